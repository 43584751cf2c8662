"""What speaks against a fit, or for another one: a sentence each, with the remedy."""

from __future__ import annotations

import numpy as np

from ..._words import counted, plural
from .findings import Findings
from .markup import count, number, own, percent, text

# Twice as many parts that explain so much more of the squares, as a share, are worth a try.
_WORTH = 0.1
# A mean that makes up so much of the squares hides what samples differ in.
_COMMON = 0.9
# Parts that are less like those of other starts are not certain.
_STABLE = 0.8
# So many names stand in a sentence.
_NAMED = 5


def advice(found: Findings) -> list[str]:
    """Sentences as HTML; none where there is nothing to say."""
    return [
        *_convergence(found), *_columns(found), *_explained(found), *_parts(found), *_labels(found)
    ]  # fmt: skip


def advice_box(found: Findings) -> str:
    told = advice(found)
    if not told:
        return (
            '<aside class="advice quiet" id="advice" aria-label="Advice"><p>Nothing was found that '
            "speaks against this fit: it converged, and its columns are of like scales.</p>"
            "</aside>\n"
        )
    items = "".join(f"<li>{words}</li>" for words in told)
    return (
        '<aside class="advice" id="advice" aria-labelledby="advice-title">'
        f'<h2 id="advice-title">Before you rely on it</h2><ul>{items}</ul></aside>\n'
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(own(name, 32) for name in names[:_NAMED])
    return shown + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")


def _convergence(found: Findings) -> list[str]:
    fitted = found.subject.factorizer
    if fitted.converged_:
        return []
    return [
        f"<strong>Not converged.</strong> The fit was ended after "
        f"{counted(fitted.n_iter_, 'iteration')}; raise <code>max_iter</code> "
        f"(<code>--max-iter</code>) above {count(fitted.max_iter)}, or <code>tol</code>."
    ]


def _columns(found: Findings) -> list[str]:
    about, columns = found.subject, found.overview.columns
    names = about.raw_names
    told: list[str] = []
    scales = found.overview.scales
    if scales is not None and not about.inner.before and about.image_shape is None:
        small, large, least, most = scales
        told.append(
            f"<strong>Scales differ.</strong> {own(names[large], 32)} is spread "
            f"{number(most / least, 2)} times as widely as {own(names[small], 32)}, and columns "
            "with large numbers decide alone what the parts are. If they are in different units, "
            'fit with <code>Standardized(model, how="scale")</code> '
            "(<code>--standardize scale</code>)."
        )
    numbers = [names[j] for j in np.flatnonzero(columns.naming)]
    if numbers:
        told.append(
            f"<strong>Numbers of samples?</strong> {_listed(numbers)} "
            f"{'looks' if len(numbers) == 1 else 'look'} like ids, which say nothing about a "
            f"sample. Leave {'it' if len(numbers) == 1 else 'them'} out, or name "
            f"{'it' if len(numbers) == 1 else 'one'} as ids (<code>--id</code>)."
        )
    flat = [names[j] for j in np.flatnonzero(columns.spread == 0)]
    if flat and about.image_shape is None:
        told.append(
            f"<strong>Without spread.</strong> {_listed(flat)} "
            f"{'has' if len(flat) == 1 else 'have'} the same value in every sample, and "
            f"{'tells' if len(flat) == 1 else 'tell'} nothing."
        )
    return told


def _explained(found: Findings) -> list[str]:
    k, best = found.shape[2], found.overview.best
    ours = found.explained_inside
    told: list[str] = []
    if not np.isfinite(ours) or not best.any():
        return told
    common = found.overview.common
    positive = found.subject.factorizer.__sklearn_tags__().input_tags.positive_only
    if common > _COMMON and not positive:
        rest = max(0.0, 1 - (1 - ours) / (1 - common)) if common < 1 else 0.0
        told.append(
            f"<strong>A common mean.</strong> {percent(common, 1)} of the squares is the mean of "
            f"the columns, which all samples share; the parts explain {percent(rest)} of what they "
            'differ in. Look at that alone with <code>Standardized(model, how="center")</code> '
            "(<code>--standardize center</code>)."
        )
    most, twice = float(best[min(k, len(best)) - 1]), float(best[min(2 * k, len(best)) - 1])
    if twice - most > _WORTH:
        told.append(
            f"<strong>More parts?</strong> {counted(k, 'part')} "
            f"{'explains' if k == 1 else 'explain'} {percent(ours)} of the squares; "
            f"any {count(k)} directions at most {percent(most)}, twice as many up to "
            f"{percent(twice)}. If the rest is not noise, try a larger <code>n_components</code> "
            "(<code>-k</code>)."
        )
    # Parts that are only added reach any directions but one of their number, if nothing holds them.
    surely = float(best[min(k - 1, len(best)) - 1]) if k > 1 else 0.0
    if surely - ours > _WORTH and not positive:
        told.append(
            f"<strong>Held back.</strong> {counted(k, 'part')} can explain {percent(surely)} of "
            f"the squares and more, these explain {percent(ours)}: the penalties are strong. Where "
            "the fit to the data matters more than clusters, try a smaller <code>strength</code>."
        )
    elif most - ours > _WORTH and not positive:
        told.append(
            f"<strong>One more part?</strong> {counted(k, 'direction')} can explain "
            f"{percent(most)} of the squares; {'this part explains' if k == 1 else 'these explain'}"
            f" {percent(ours)}. Parts that are never subtracted may need one more to describe as "
            f"much: try {count(k + 1)} (<code>n_components</code>, <code>-k</code>)."
        )
    return told


def _parts(found: Findings) -> list[str]:
    fitted = found.subject.factorizer
    told: list[str] = []
    k, m = fitted.components_.shape
    off = k - fitted.n_active_
    if k >= m:
        told.append(
            f"<strong>As many parts as columns.</strong> {counted(k, 'part')} for "
            f"{counted(m, 'column')} can describe nearly any data, and so "
            f"{'says' if k == 1 else 'say'} little about these. Choose fewer "
            "(<code>n_components</code>, <code>-k</code>)."
        )
    if off:
        told.append(
            f"<strong>Parts that are not needed.</strong> {count(off)} of {count(k)} parts "
            f"{'is' if off == 1 else 'are'} zero; <code>n_components={fitted.n_active_}</code> "
            "gives as much."
        )
    stability = getattr(fitted, "stability_", None)
    if stability is not None:
        loose = np.flatnonzero(np.asarray(stability) < _STABLE)
        if len(loose):
            which = f"{plural(len(loose), 'Part')} {', '.join(str(j) for j in loose)}"
            told.append(
                f"<strong>Not certain.</strong> {'No part' if len(loose) == k else which} "
                f"{'came' if len(loose) == k else 'did not come'} back from random starts: others "
                "explain these samples as well."
            )
    return told


def _labels(found: Findings) -> list[str]:
    labels = found.subject.labels
    if labels is None or not labels.missing:
        return []
    n = labels.missing
    return [
        f"<strong>Gaps in the labels.</strong> {text(counted(n, 'sample'))} "
        f"{'has' if n == 1 else 'have'} no label, and {'does' if n == 1 else 'do'} not count in "
        "the agreement."
    ]
