"""The tables of `docs/promises.md`, from rows: ``python -m benchmarks.promises``.

Rows: ``docs/hostile.csv`` (``make hostile``), ``docs/mutation.csv`` (``make mutation``),
``docs/tested.csv`` (``make test-lowest test-newest test-generic``), ``docs/fuzz.csv`` (``make
fuzz``), ``docs/threads.csv`` and ``docs/at-once.csv`` (``make threads``).
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "promises.md"
Rows = list[dict[str, str]]
# Fits at once may take so many times as long as one after the other.
AT_MOST = 1.3


def rows_of(name: str) -> Rows:
    path = DOCS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def table(head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def hostile(rows: Rows) -> str:
    """Kinds of files by outcome."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        counts[row["kind"]][row["outcome"]] += int(row["cases"])
    outcomes = sorted({outcome for found in counts.values() for outcome in found})
    body = [
        [f"`.{kind}`" if kind != "model" else "model files", f"{sum(found.values()):,}"]
        + [f"{found[outcome]:,}" for outcome in outcomes]
        for kind, found in sorted(counts.items())
    ]
    total = sum(sum(found.values()) for found in counts.values())
    sums = [f"{sum(found[outcome] for found in counts.values()):,}" for outcome in outcomes]
    return table(["files", "cases", *outcomes], [*body, ["all", f"{total:,}", *sums]])


def mutation(rows: Rows) -> str:
    body = []
    for part, title in (("compiled/", "compiled code"), ("", "Python")):
        chosen = [
            row for row in rows if row["file"].startswith("compiled/") == (part == "compiled/")
        ]
        counts = [sum(row["outcome"] == o for row in chosen) for o in ("caught", "equivalent")]
        left = len(chosen) - sum(counts)
        body.append([title, str(len(chosen)), *map(str, counts), str(left)])
    text = table(["broken places in", "mutants", "caught", "equivalent", "not noticed"], body)
    reasons = [f"- {row['name']}: {row['reason']}" for row in rows if row["reason"]]
    return text + ("\n\nEquivalent are:\n\n" + "\n".join(reasons) if reasons else "")


def tested(rows: Rows) -> str:
    if not rows:
        return "No complete run has been recorded yet."
    columns = ("environment", "python", "versions", "passed", "failed", "skipped", "what failed",
               "commit", "date")  # fmt: skip
    return table(list(columns), [[row[name] for name in columns] for row in rows])


def fuzz(rows: Rows) -> str:
    if not rows:
        return "No long run of the fits has been recorded yet."
    counts: Counter[str] = Counter()
    commits: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        counts[row["outcome"]] += int(row["cases"])
        commits[row["commit"]].add(int(row["first"]))
    total, failed = counts.total(), sum(n for kind, n in counts.items() if "FAILED" in kind)
    first = min(map(min, commits.values()))
    pieces = ", ".join(f"`{name}` ({len(parts):,})" for name, parts in sorted(commits.items()))
    size = total // sum(map(len, commits.values()))
    told = (
        f"{total:,} cases in pieces of {size:,}, the first from number {first:,} on; {failed:,} of "
        f"them failed. Commits, and how many pieces are of each: {pieces}."
    )
    body = [[outcome, f"{count:,}"] for outcome, count in counts.most_common()]
    return told + "\n\n" + table(["outcome", "cases"], body)


def threads(rows: Rows) -> str:
    """What was run, and how often something was wrong: runs of one kind are added up."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        found = counts[row["what"], row["wrong"]]
        found[0] += int(row["runs"])
        found[1] += int(row["count"])
    body = [[what, f"{n:,}", f"{bad:,} {wrong}"] for (what, wrong), (n, bad) in counts.items()]
    return table(["", "runs", "wrong"], body)


def at_once(rows: Rows) -> str:
    """The fastest of each, and the ratio of these and of the medians."""
    body = []
    for row in rows:
        numbers = {name: float(row[name]) for name in row if name != "fit"}
        best = numbers["at once"] / numbers["after"]
        usual = numbers["at once, median"] / numbers["after, median"]
        shape = f"{numbers['samples']:,.0f} × {numbers['features']:.0f}"
        times = [f"{1e3 * numbers[name]:.1f} ms" for name in ("after", "at once")]
        target = "yes" if best <= AT_MOST else "**no**"
        ratios = [f"{best:.2f}", f"{usual:.2f}"]
        body.append([f"`{row['fit']}`, {shape}", row["fits"], *times, *ratios, target])
    head = ["fits of", "at once", "one after the other", "at once", "ratio", "of medians"]
    return table([*head, f"≤ {AT_MOST}"], body)


TABLES = {
    "hostile": hostile, "mutation": mutation, "tested": tested, "fuzz": fuzz, "threads": threads,
    "at-once": at_once,
}  # fmt: skip


def filled(text: str) -> str:
    """The page with new tables between its marks."""
    for name, make in TABLES.items():
        marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
        pattern = re.compile(f"{marks[0]}.*?{marks[1]}", re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise ValueError(f"{PAGE} has no place for {name}")
        content = f"{marks[0]}\n{make(rows_of(name))}\n{marks[1]}"
        text = pattern.sub(lambda _, content=content: content, text)
    return text


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8")
    after = filled(before)
    if sys.argv[1:] == ["--check"]:
        sys.exit("docs/promises.md is not made from the rows" if after != before else 0)
    PAGE.write_text(after, encoding="utf-8")
