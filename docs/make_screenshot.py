"""Draw the pictures of the page of a model, in headless Chromium.

``python docs/make_screenshot.py [report] [cells]`` writes docs/images/report.png, the demonstration
of the README, and docs/images/cells.png, made gene expression; without names, both. Needs chromium
and its driver, and ``pip install selenium``.
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from selenium import webdriver

from seminmf import FactorKMeans, L21SemiNMF, Report, demo, report

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
WIDTH, HEIGHT = 1120, 860
KINDS = (
    "B cell", "CD4+ T cell", "CD8+ T cell", "NK cell", "monocyte", "dendritic cell", "platelet",
    "plasma cell", "erythroid precursor", "neutrophil",
)  # fmt: skip

View = tuple[str, str, str]
"""Light or dark, the element at the top, and what to do before."""
TYPICAL = "stage.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home'}));"
LABELS = "document.querySelector('label[for=by-label]').click();"
NEIGHBOURS = "document.querySelector('label[for=layout-neighbours]').click();"


def cells(n_cells: int = 900, n_genes: int = 1000) -> Report:
    """Counts of genes in cells of ten kinds, each with marker genes, as logarithms."""
    rng = np.random.default_rng(0)
    share = np.array([18, 22, 14, 9, 16, 5, 4, 4, 4, 4]) / 100
    kind = rng.choice(len(KINDS), n_cells, p=share)
    usual = rng.gamma(0.4, 1.0, n_genes)
    marked = rng.random((len(KINDS), n_genes)) < 0.05
    profiles = usual * np.where(marked, rng.gamma(2.0, 6.0, marked.shape), 1.0)
    counts = rng.poisson(profiles[kind] * rng.gamma(6.0, 1 / 6, n_cells)[:, None])
    counts = counts[:, counts.any(axis=0)]
    X = np.log1p(counts * (np.median(counts.sum(axis=1)) / counts.sum(axis=1, keepdims=True)))
    families = ("CD", "IL", "KRT", "HLA-", "RPL", "IFI", "CCL", "MT-ND")
    names = [f"{families[i % 8]}{1 + i // 8}" for i in range(X.shape[1])]
    labels = np.array(KINDS, dtype=object)[kind]
    labels[:: n_cells // 20] = None
    model = FactorKMeans(L21SemiNMF(len(KINDS)), random_state=0).fit(X)
    ids = [f"cell {i}" for i in range(n_cells)]
    return report(model, X, labels=labels, ids=ids, feature_names=names, title="Blood cells")


PICTURES: dict[str, tuple[Callable[[], Report], tuple[View, ...]]] = {
    "report": (
        lambda: demo.show(demo.explore()),
        (("light", "header", ""), ("dark", "#samples-map", TYPICAL)),
    ),
    "cells": (
        cells,
        (
            ("light", "#samples-map", LABELS), ("dark", "#samples-map", LABELS + NEIGHBOURS),
            ("light", "#parts", ""), ("dark", "#uses", ""),
        ),
    ),
}  # fmt: skip


def capture(driver: webdriver.Chrome, page: Path, view: View) -> str:
    """One view of the page, from the top of an element, as the address of an image."""
    scheme, selector, before = view
    command = driver.execute_cdp_cmd
    metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    command("Emulation.setDeviceMetricsOverride", metrics)
    wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    command("Emulation.setEmulatedMedia", {"features": features})
    driver.get(page.as_uri())
    driver.execute_script(
        "scrollTo(0, document.querySelector(arguments[0]).getBoundingClientRect().top - 24);"
        f"const stage = document.getElementById('stage'); {before}"
        "document.activeElement.blur();",
        selector,
    )
    # Names appear on the map when it has come to rest.
    driver.execute_async_script("setTimeout(arguments[0], 300)")
    image = command("Page.captureScreenshot", {"format": "png"})["data"]
    return f"data:image/png;base64,{image}"


def main() -> None:
    images = Path(__file__).parent / "images"
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    with tempfile.TemporaryDirectory() as folder:
        for flag in (*FLAGS, f"--user-data-dir={folder}/profile"):
            options.add_argument(flag)
        service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
        driver = webdriver.Chrome(options=options, service=service)
        try:
            for name in sys.argv[1:] or PICTURES:
                make, views = PICTURES[name]
                page = make().save(Path(folder, "page.html"))
                shots = [capture(driver, page, view) for view in views]
                sheet = Path(folder, "sheet.html")
                drawn = "".join(f'<img src="{shot}">' for shot in shots)
                style = "body{margin:0;display:flex;flex-wrap:wrap}img{width:50%}"
                sheet.write_text(f"<!DOCTYPE html><style>{style}</style>{drawn}", encoding="utf-8")
                driver.get(sheet.as_uri())
                height = HEIGHT / 2 * (len(views) // 2)
                clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1.3}
                shot = driver.execute_cdp_cmd(
                    "Page.captureScreenshot",
                    {"format": "png", "clip": clip, "captureBeyondViewport": True},
                )
                (images / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
