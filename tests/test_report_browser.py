"""The report in a real browser: it works by mouse, touch and keyboard, and it keeps to itself."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from seminmf import FactorKMeans, L21SemiNMF, SemiNMF, report
from seminmf.datasets import add_outliers, make_waveform

webdriver = pytest.importorskip("selenium.webdriver")
keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1200,900",
)  # fmt: skip
HACK = "window.hacked = true"
HOSTILE = (
    f"<script>{HACK}</script>",
    f'"><img src=x onerror="{HACK}">',
    f"</script><script>{HACK}</script>",
    f"<svg onload='{HACK}'>",
    "<b>bold</b> &amp; \u2028 \u202e",
)


def wait_until(condition: Callable[[], object], seconds: float = 20) -> None:
    """A page answers in its own time: until it has, or for so long that it will not any more.

    Nothing is raised then, so that the assertion after it shows what there is instead.
    """
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)


class Browser:
    """A page in Chromium, and what happens to it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def command(self, name: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, parameters)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def open(self, page: Path, width: int = 1200, scheme: str = "light") -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.media(scheme)
        self.point(0, 0)  # not where the new page has something to point at
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)  # what happened before is of no interest
        self.driver.get(page.as_uri())
        wait_until(lambda: self.run("return innerWidth") == width)

    def media(self, scheme: str, kind: str = "screen") -> None:
        # Without smooth scrolling an element is where it says when it is clicked.
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.command("Emulation.setEmulatedMedia", media=kind, features=features)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def requests(self) -> list[str]:
        """Addresses that were asked for since the page was opened."""
        events = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def samples(self) -> dict[str, Any]:
        found: dict[str, Any] = self.run(
            "return JSON.parse(document.getElementById('samples').textContent)"
        )
        return found

    def place(self, sample: int) -> dict[str, float]:
        """Where a sample is in the window, after it was scrolled to."""
        found: dict[str, float] = self.run(
            """
            const svg = document.getElementById("map");
            svg.scrollIntoView({block: "center", behavior: "instant"});
            const mark = document.getElementById("points").children[arguments[0]];
            const box = mark.getBoundingClientRect();
            return {x: box.left + box.width / 2, y: box.top + box.height / 2};
            """,
            sample,
        )
        return found

    def point(self, x: float, y: float) -> None:
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def hover(self, sample: int) -> None:
        """Point at a sample, until the tooltip is about it."""
        name = " ".join(self.samples()["id"][sample].split())
        self.point(**self.place(sample))
        wait_until(lambda: self.tip.partition("\n")[0] == name)

    def press(self, element: Any, key: str) -> None:
        """A key, until the page has heard it; what listens further inside has done so before."""
        self.run(
            "window.heard = false;"
            "addEventListener('keydown', () => { window.heard = true; }, {once: true})"
        )
        element.send_keys(key)
        wait_until(lambda: self.run("return window.heard"))

    def choose(self, colour: str) -> None:
        """What the samples are coloured by."""
        self.find(f"label[for=by-{colour}]").click()
        wait_until(self.find(f"#by-{colour}").is_selected)

    @property
    def tip(self) -> str:
        """The text of the tooltip; empty if it is not shown."""
        return str(self.find("#tip").text)

    def colours(self) -> list[str]:
        found: list[str] = self.run(
            "return [...document.getElementById('points').children]"
            ".map(mark => getComputedStyle(mark).color)"
        )
        return found

    def background(self) -> str:
        return str(self.run("return getComputedStyle(document.body).backgroundColor"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    driver_path = shutil.which("chromedriver")
    if chromium is None or driver_path is None:
        pytest.skip("no chromium and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=driver_path)
    driver = webdriver.Chrome(options=options, service=service)
    yield Browser(driver)
    driver.quit()


@pytest.fixture(scope="module")
def signals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, kinds = make_waveform(300, random_state=0)
    X, _ = add_outliers(X, 0.1, random_state=0)
    model = FactorKMeans(L21SemiNMF(12), random_state=0).fit(X)
    ids = [f"signal {i}" for i in range(300)]
    page = report(model, X, labels=np.array(["a", "b", "c"])[kinds], ids=ids)
    return page.save(tmp_path_factory.mktemp("pages") / "signals.html")


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = load_digits(return_X_y=True)
    # A weak penalty, so that neighbours are apart on the map and can be pointed at.
    model = L21SemiNMF(8, strength=3e-4, random_state=0).fit(X[:400])
    page = report(model, X[:400], labels=y[:400], image_shape=(8, 8))
    return page.save(tmp_path_factory.mktemp("pages") / "digits.html")


@pytest.fixture(scope="module")
def heaps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty kinds of samples: at the default strength each has one code."""
    rng = np.random.default_rng(0)
    X = np.repeat(3 * rng.normal(size=(20, 12)), 20, axis=0) + 0.1 * rng.normal(size=(400, 12))
    model = L21SemiNMF(8, random_state=0).fit(X)
    return report(model, X).save(tmp_path_factory.mktemp("pages") / "heaps.html")


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)) ** 2 @ (rng.normal(size=(5, 300)) * [[1], [2], [4], [1], [3]])
    names = [
        f"a rather long name of a feature, as genes have them, number {i:03d}" for i in range(300)
    ]
    model = SemiNMF(4, random_state=0).fit(X + 0.1 * rng.normal(size=X.shape))
    X = model.inverse_transform(model.codes_)
    page = report(SemiNMF(4, random_state=0).fit(X), X, feature_names=names)
    return page.save(tmp_path_factory.mktemp("pages") / "named.html")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, len(HOSTILE)))
    page = report(
        SemiNMF(3, random_state=0).fit(X),
        X,
        labels=[HOSTILE[i % 5] for i in range(60)],
        ids=[f"{HOSTILE[i % 5]} {i}" for i in range(60)],
        feature_names=HOSTILE,
        title=" ".join(HOSTILE),
    )
    return page.save(tmp_path_factory.mktemp("pages") / "hostile.html")


@pytest.mark.parametrize("name", ["signals", "digits", "hostile"])
def test_the_page_asks_for_nothing_and_complains_of_nothing(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    page = request.getfixturevalue(name)
    browser.open(page)
    for choice in ("label", "score", "cluster"):
        browser.choose(choice)
    browser.hover(0)
    assert browser.tip
    asked = [address for address in browser.requests() if not address.startswith("data:")]
    assert asked == [page.as_uri()]
    assert browser.driver.get_log("browser") == []
    loaded = browser.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert [address for address in loaded if not address.startswith("data:")] == []


def test_the_policy_stops_what_does_not_belong(browser: Browser, signals: Path) -> None:
    browser.open(signals)
    browser.run(
        """
        const image = new Image(); image.src = "https://example.invalid/spy.png";
        document.body.append(image);
        const script = document.createElement("script"); script.textContent = "window.hacked = 1";
        document.body.append(script);
        """
    )
    messages: list[str] = []

    def both_are_named() -> bool:
        messages.extend(entry["message"] for entry in browser.driver.get_log("browser"))
        return all(any(kind in m for m in messages) for kind in ("img-src", "script-src"))

    wait_until(both_are_named)
    assert browser.run("return window.hacked") is None
    assert any("img-src" in message for message in messages)
    assert any("script-src" in message for message in messages)


def test_hovering_shows_what_a_sample_is(browser: Browser, signals: Path) -> None:
    browser.open(signals)
    samples = browser.samples()
    assert not browser.tip
    for number in (samples["home"], samples["end"]):
        browser.hover(number)
        lines = browser.tip.splitlines()
        assert lines[0] == samples["id"][number]
        words = " ".join(lines)
        assert f"cluster {samples['cluster'][number]}" in words
        assert f"label {samples['labels'][samples['label'][number]]}" in words
        assert f"outlier score {samples['score'][number]}" in words
        assert f"part {samples['parts'][number][0]}" in words
        assert ("outlier yes" in words) == bool(samples["outlier"][number])
    browser.point(5, 5)
    wait_until(lambda: not browser.tip)
    assert not browser.tip


def test_touching_shows_what_a_sample_is(browser: Browser, signals: Path) -> None:
    browser.open(signals, width=390)
    samples = browser.samples()
    number = samples["home"]
    browser.command("Emulation.setTouchEmulationEnabled", enabled=True)
    try:
        point = browser.place(number)
        browser.command("Input.dispatchTouchEvent", type="touchStart", touchPoints=[point])
        browser.command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        wait_until(lambda: browser.tip)  # a touch becomes a click a little later
    finally:
        browser.command("Emulation.setTouchEmulationEnabled", enabled=False)
    assert browser.tip.splitlines()[0] == samples["id"][number]


def test_the_keyboard_moves_between_samples(browser: Browser, signals: Path) -> None:
    browser.open(signals)
    samples = browser.samples()
    stage = browser.find("#stage")

    def press(key: str) -> int:
        browser.press(stage, key)
        return int(samples["id"].index(browser.tip.splitlines()[0]))

    first = press(keys.ARROW_RIGHT)
    assert first == samples["home"]
    right = press(keys.ARROW_RIGHT)
    assert samples["x"][right] > samples["x"][first]
    up = press(keys.ARROW_UP)
    assert samples["y"][up] < samples["y"][right]
    left = press(keys.ARROW_LEFT)
    assert samples["x"][left] < samples["x"][up]
    down = press(keys.ARROW_DOWN)
    assert samples["y"][down] > samples["y"][left]
    assert press(keys.END) == samples["end"]
    assert press(keys.HOME) == samples["home"]
    spoken = browser.find("#spoken").get_attribute("textContent")
    assert spoken.startswith(f"Sample {samples['id'][samples['home']]}: cluster ")
    browser.press(stage, keys.ESCAPE)
    assert not browser.tip


def test_everything_can_be_reached_by_tabs(browser: Browser, signals: Path) -> None:
    browser.open(signals)
    reached = []
    active = browser.driver.switch_to.active_element
    for _ in range(20):
        before = active
        before.send_keys(keys.TAB)
        wait_until(lambda before=before: browser.driver.switch_to.active_element != before)
        active = browser.driver.switch_to.active_element
        target = active.get_attribute("href") or "#"
        reached.append(active.get_attribute("id") or target.partition("#")[2])
        outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or reached[-1].startswith(("by-", "layout-"))
    assert reached[:3] == ["content", "theme", "samples-map"]
    assert "by-cluster" in reached
    assert "layout-codes" in reached
    assert "zoom-in" in reached
    assert "stage" in reached
    browser.find("#by-cluster").send_keys(keys.ARROW_RIGHT)
    wait_until(browser.find("#by-label").is_selected)
    assert browser.find("#by-label").is_selected()


def test_colouring(browser: Browser, signals: Path) -> None:
    browser.open(signals)
    samples = browser.samples()
    seen = {}
    for choice, groups in (
        ("cluster", [c % 10 for c in samples["cluster"]]),
        ("label", samples["label"]),
    ):
        browser.choose(choice)
        colours = browser.colours()
        pairs = set(zip(groups, colours, strict=True))
        assert len(pairs) == len(set(groups)) == len(set(colours))
        assert browser.find(f".legend.of-{choice}").is_displayed()
        seen[choice] = colours
    browser.choose("score")
    seen["score"] = browser.colours()
    outliers = {c for c, o in zip(seen["score"], samples["outlier"], strict=True) if o}
    others = {c for c, o in zip(seen["score"], samples["outlier"], strict=True) if not o}
    assert len(outliers) == 1
    assert not outliers & others
    assert not browser.find(".legend.of-cluster").is_displayed()
    assert seen["cluster"] != seen["label"] != seen["score"]


def test_the_legend_picks_out_a_group(browser: Browser, signals: Path) -> None:
    browser.open(signals)
    clusters = browser.samples()["cluster"]
    button = browser.find('.legend button[data-kind=cluster][data-value="11"]')

    def faded() -> list[bool]:
        found: list[bool] = browser.run(
            "return [...document.getElementById('points').children]"
            ".map(mark => mark.classList.contains('faded'))"
        )
        return found

    button.click()
    wait_until(lambda: any(faded()))
    assert button.get_attribute("aria-pressed") == "true"
    assert faded() == [cluster != 11 for cluster in clusters]
    button.click()
    wait_until(lambda: not any(faded()))
    assert not any(faded())


BOXES = """
    const box = (e) => {
        const b = e.getBoundingClientRect();
        return [b.left, b.top, b.right, b.bottom];
    };
"""


def overlaps(first: list[float], second: list[float]) -> bool:
    return (
        first[0] < second[2] and second[0] < first[2]
        and first[1] < second[3] and second[1] < first[3]
    )  # fmt: skip


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("layout", ["codes", "neighbours"])
def test_names_stand_beside_the_points(
    browser: Browser, signals: Path, width: int, layout: str
) -> None:
    browser.open(signals, width=width)
    browser.find(f"label[for=layout-{layout}]").click()
    browser.choose("label")
    names = "return [...document.querySelectorAll('#names text')]"
    wait_until(lambda: len(browser.run(f"{names}.map(e => e.textContent)")) == 3)
    assert sorted(browser.run(f"{names}.map(e => e.textContent)")) == ["a", "b", "c"]
    boxes = browser.run(f"{BOXES} {names}.map(box)")
    dots = browser.run(f"{BOXES} return [...document.querySelectorAll('#points > *')].map(box)")
    shrunk = [[a + 1, b + 1, c - 1, d - 1] for a, b, c, d in dots]
    for box in boxes:
        # Half of a line's height is the room above and below of the letters themselves.
        high = (box[3] - box[1]) / 4
        letters = [box[0], box[1] + high, box[2], box[3] - high]
        assert not [dot for dot in shrunk if overlaps(letters, dot)]
        assert sum(overlaps(letters, other) for other in boxes) == 1
    assert browser.run("return document.querySelectorAll('#names path').length") == 3
    browser.choose("score")
    wait_until(lambda: not browser.run(f"{names}.length"))


def test_thirty_names_find_room_on_a_phone(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By what tells them from each other, and no sample is out of the frame."""
    rng = np.random.default_rng(0)
    kinds = np.arange(900) % 30
    X = (4 * rng.normal(size=(30, 40)))[kinds] + rng.normal(size=(900, 40))
    path = tmp_path_factory.mktemp("classes") / "report.html"
    labels = [f"kind {kind} of cells" for kind in kinds]
    report(SemiNMF(20, random_state=0).fit(X), X, labels=labels).save(path)
    browser.open(path, width=390)
    browser.choose("label")
    names = "return [...document.querySelectorAll('#names text')].map(e => e.textContent)"
    wait_until(lambda: len(browser.run(names)) == 30)
    assert sorted(browser.run(names)) == sorted(map(str, range(30)))
    frame, *dots = browser.run(
        f"{BOXES} return ['.frame', '#points circle'].flatMap("
        "what => [...document.querySelectorAll(what)].map(box))"
    )
    confused = browser.find(".confusion tbody th").size["width"]
    assert confused < 390 / 2  # labels leave room for what is counted
    assert frame[3] - frame[1] > frame[2] - frame[0]
    assert all(frame[1] <= dot[1] and dot[3] <= frame[3] for dot in dots)
    browser.open(path, width=1200)
    (frame,) = browser.run(f"{BOXES} return [...document.querySelectorAll('.frame')].map(box)")
    assert frame[3] - frame[1] < frame[2] - frame[0]


@pytest.mark.parametrize("layout", ["codes", "neighbours"])
def test_the_legend_counts_the_marks_that_are_drawn(
    browser: Browser, signals: Path, layout: str
) -> None:
    browser.open(signals)
    browser.find(f"label[for=layout-{layout}]").click()
    (said,) = (
        legend.text
        for legend in browser.driver.find_elements("css selector", "[aria-label=Marks]")
        if legend.is_displayed()
    )
    marks = browser.run(
        "return [...document.querySelectorAll('#points use')].map(e => e.getAttribute('href'))"
    )
    assert "#cross" in marks
    assert ("#far" in marks) == (layout == "codes")
    names = {"× outlier": "#cross", "▸ beyond the frame": "#far"}
    drawn = [f"{name} {marks.count(mark)}" for name, mark in names.items() if mark in marks]
    assert said.split() == " ".join(["Marks", *drawn]).split()


def test_captions_of_tables_stay_in_the_window(browser: Browser, signals: Path) -> None:
    """Also of one that is wider than a phone."""
    browser.open(signals, width=390)
    tables = browser.run(f"{BOXES} return [...document.querySelectorAll('table')].map(box)")
    assert any(table[2] > 390 for table in tables)
    captions = browser.run(f"{BOXES} return [...document.querySelectorAll('caption')].map(box)")
    assert len(captions) > 3
    assert all(caption[2] <= 390 for caption in captions)


def test_dots_do_not_cover_each_other(browser: Browser, heaps: Path) -> None:
    browser.open(heaps)
    places = np.array(
        browser.run(f"{BOXES} return [...document.querySelectorAll('#points > *')].map(box)")
    )
    middle = (places[:, :2] + places[:, 2:]) / 2
    size = float(np.median(places[:, 2] - places[:, 0]))
    gaps = np.linalg.norm(middle[:, None] - middle, axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert len(places) == 400
    assert (gaps.min(axis=1) > 0.5 * size).mean() > 0.95


def transforms(browser: Browser) -> list[str]:
    found: list[str] = browser.run(
        "return [...document.getElementById('points').children]"
        ".map(mark => mark.getAttribute('transform'))"
    )
    return found


def test_the_layout_can_be_changed(browser: Browser, signals: Path) -> None:
    browser.open(signals)
    samples, before = browser.samples(), transforms(browser)
    browser.find("label[for=layout-neighbours]").click()
    wait_until(lambda: transforms(browser) != before)
    places = [re.match(r"translate\(([\d.-]+) ([\d.-]+)\)", t) for t in transforms(browser)]
    expected = zip(samples["neighbours"]["x"], samples["neighbours"]["y"], strict=True)
    assert [tuple(map(float, p.groups())) for p in places if p] == list(expected)
    assert browser.find(".by-neighbours").is_displayed()
    browser.hover(samples["home"])
    assert browser.tip.splitlines()[0] == samples["id"][samples["home"]]
    browser.find("label[for=layout-codes]").click()
    wait_until(lambda: transforms(browser) == before)
    assert transforms(browser) == before


def test_zoom_and_pan(browser: Browser, signals: Path) -> None:
    browser.open(signals)
    before = transforms(browser)

    def place_of(transform: str) -> Any:
        found = re.match(r"translate\(([\d.-]+) ([\d.-]+)\)", transform)
        assert found
        return np.array([float(v) for v in found.groups()])

    def place() -> Any:
        return place_of(transforms(browser)[home])

    # In the middle of the map, so that it is there after zooming too.
    middle = np.array([360, 250])
    home = min(range(1, len(before)), key=lambda i: np.linalg.norm(place_of(before[i]) - middle))
    start = place()
    browser.find("#zoom-in").click()
    wait_until(lambda: transforms(browser) != before)
    np.testing.assert_allclose(place(), [360, 250] + 1.6 * (start - [360, 250]), atol=0.2)
    # With the wheel and Ctrl, the point under the pointer stays where it is.
    point = browser.place(home)
    zoomed = place()
    wheel = {"type": "mouseWheel", **point, "deltaX": 0, "deltaY": -200, "modifiers": 2}
    browser.command("Input.dispatchMouseEvent", **wheel)
    wait_until(lambda: transforms(browser)[home - 1] != before[home - 1])
    np.testing.assert_allclose(place(), zoomed, atol=1.5)
    # Pulled at, the map moves with the pointer.
    scale = browser.run("return document.getElementById('map').clientWidth / 720")
    here = place()
    x, y = point["x"], point["y"]
    press = {"button": "left", "buttons": 1, "clickCount": 1}
    browser.command("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **press)
    for step in range(1, 6):
        browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=x + 6 * step, y=y, **press)
    browser.command("Input.dispatchMouseEvent", type="mouseReleased", x=x + 30, y=y, **press)
    wait_until(lambda: place()[0] > here[0] + 10)
    assert place()[0] == pytest.approx(here[0] + 30 / scale, abs=3)
    assert place()[1] == pytest.approx(here[1], abs=3)
    # A key, and all is as it was.
    browser.press(browser.find("#stage"), "0")
    wait_until(lambda: transforms(browser) == before)
    assert transforms(browser) == before
    # A wheel alone scrolls the page.
    scrolled = browser.run("return scrollY")
    browser.command("Input.dispatchMouseEvent", **{**wheel, "modifiers": 0, "deltaY": 120})
    wait_until(lambda: browser.run("return scrollY") != scrolled)
    assert transforms(browser) == before


def test_parts_on_one_scale_or_each_on_its_own(browser: Browser, named: Path) -> None:
    browser.open(named)
    widths = (
        "return [...document.querySelectorAll('.part')].map(part => Math.max("
        "...[...part.querySelectorAll('.bar rect')].map(r => r.getBoundingClientRect().width)))"
    )
    own = browser.run(widths)
    assert max(own) == pytest.approx(min(own), rel=0.02)
    browser.find("label[for=scale-common]").click()
    wait_until(lambda: browser.run(widths) != own)
    common = browser.run(widths)
    assert max(common) == pytest.approx(max(own), rel=0.02)
    assert min(common) < 0.8 * max(common)


def test_more_features_on_demand(browser: Browser, named: Path) -> None:
    browser.open(named)
    card = browser.find(".part")
    shown = [n for n in card.find_elements("css selector", ".name") if n.is_displayed()]
    assert len(shown) == 12
    # Names have the width of the card, and what distinguishes them is not cut off.
    assert all(n.text.startswith("a rather long name") for n in shown)
    assert len({n.text for n in shown}) == 12
    assert [n.text for n in shown if n.text[-3:].isdigit()] == [n.text for n in shown]
    assert browser.run(
        "return [...document.querySelectorAll('.part:first-child > .bars .name')]"
        ".every(e => e.scrollWidth <= e.clientWidth + 1)"
    )
    card.find_element("css selector", "summary").click()
    names = card.find_elements("css selector", ".name")
    wait_until(lambda: sum(n.is_displayed() for n in names) > 12)
    assert sum(n.is_displayed() for n in names) == 50


def test_hostile_strings_do_nothing(browser: Browser, hostile: Path) -> None:
    browser.open(hostile)
    samples = browser.samples()
    stage = browser.find("#stage")
    for key in (keys.HOME, keys.ARROW_RIGHT, keys.ARROW_DOWN, keys.ARROW_LEFT, keys.ARROW_UP):
        browser.press(stage, key)
        assert browser.tip.splitlines()[0] in [" ".join(name.split()) for name in samples["id"]]
        for selector in ("script", "img", "b", "svg", "a"):
            assert browser.driver.find_elements("css selector", f"#tip {selector}") == []
    assert browser.run("return window.hacked") is None
    assert len(browser.driver.find_elements("css selector", "script")) == 2
    assert browser.driver.find_elements("css selector", "img, b, [onerror], [onload]") == []
    assert HOSTILE[0] in browser.find("h1").text
    assert browser.driver.title.startswith(HOSTILE[0])
    assert f"<script>{HACK}"[:16] in browser.find("#parts").text


@pytest.mark.parametrize("name", ["signals", "digits", "hostile", "named"])
@pytest.mark.parametrize("width", [360, 768, 1200])
def test_no_page_is_wider_than_its_window(
    browser: Browser, name: str, width: int, request: pytest.FixtureRequest
) -> None:
    browser.open(request.getfixturevalue(name), width=width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run("return innerWidth") == width
    # Texts in boxes that do not scroll end inside of them.
    wide = browser.run(
        "return [...document.querySelectorAll('.card, .tiles > div, .lead, h1, h2')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML.slice(0, 200))"
    )
    assert wide == []


def test_light_and_dark(browser: Browser, signals: Path) -> None:
    browser.open(signals)
    light, colours = browser.background(), browser.colours()
    button = browser.find("#theme")
    # The page hears of a change of the scheme later than its colours change.
    browser.media("dark")
    wait_until(lambda: button.text == "Light")
    dark = browser.background()
    assert light != dark
    assert browser.colours() != colours
    assert button.text == "Light"
    button.click()
    wait_until(lambda: button.text == "Dark")
    assert browser.background() == light
    assert browser.colours() == colours
    assert button.text == "Dark"
    button.click()
    wait_until(lambda: browser.background() == dark)
    assert browser.background() == dark


def test_on_paper_there_is_nothing_to_press(browser: Browser, signals: Path) -> None:
    browser.open(signals, scheme="dark")
    browser.media("dark", "print")
    wait_until(lambda: browser.run("return matchMedia('print').matches"))
    assert browser.background() == "rgb(255, 255, 255)"
    for selector in ("nav", "#theme", ".segments", ".zoom"):
        assert not browser.find(selector).is_displayed()
    assert browser.find("#map").is_displayed()


def test_a_picture_in_the_tooltip(browser: Browser, digits: Path) -> None:
    browser.open(digits)
    samples = browser.samples()
    for number in (samples["home"], samples["end"]):
        browser.hover(number)
        drawn = browser.run(
            "const c = document.querySelector('#tip canvas');"
            "const pixels = [...c.getContext('2d').getImageData(0, 0, 8, 8).data];"
            "return pixels.filter((_, i) => i % 4 == 0)"
        )
        X = load_digits().data
        row = X[int(samples["id"][number])]
        assert np.corrcoef(drawn, row)[0, 1] < -0.999  # dark where there is ink
    wait_until(lambda: browser.run("return [...document.images].every(i => i.complete)"))
    sizes = browser.run("return [...document.images].map(i => [i.naturalWidth, i.naturalHeight])")
    assert len(sizes) > 8
    assert all(size == [8, 8] for size in sizes)


def test_without_scripts_the_page_is_still_there(
    browser: Browser, signals: Path, tmp_path: Path
) -> None:
    # A policy that forbids all scripts does what a reader does who switches them off.
    text = signals.read_text("utf-8")
    start = text.index("script-src '")
    end = text.index(";", start)
    page = tmp_path / "still.html"
    page.write_text(text[:start] + "script-src 'none'" + text[end:], encoding="utf-8")
    browser.open(page)
    assert not browser.find("#theme").is_displayed()
    before = browser.colours()
    assert len(set(before)) > 5
    browser.choose("label")
    assert browser.colours() != before
    assert browser.find("#outliers table").is_displayed()


def test_the_frame_of_a_notebook(browser: Browser, signals: Path, tmp_path: Path) -> None:
    from seminmf import Report

    notebook = tmp_path / "notebook.html"
    shown = Report(signals.read_text("utf-8"))._repr_html_()
    notebook.write_text(f'<!DOCTYPE html><meta charset="utf-8">{shown}', encoding="utf-8")
    browser.open(notebook)
    browser.driver.switch_to.frame(browser.find("iframe"))
    try:
        samples = browser.samples()
        browser.press(browser.find("#stage"), keys.HOME)
        assert browser.tip.splitlines()[0] == samples["id"][samples["home"]]
        assert browser.run("return window.origin") == "null"
    finally:
        browser.driver.switch_to.default_content()
    assert browser.driver.get_log("browser") == []
