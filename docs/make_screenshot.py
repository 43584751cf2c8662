"""Draw the picture of the README: the report of the demonstration, in headless Chromium.

``python docs/make_screenshot.py [docs/images/report.png]``; needs chromium and its driver, and
``pip install selenium``.
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from pathlib import Path

from selenium import webdriver

from seminmf import demo

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
WIDTH, HEIGHT = 1120, 860
# The page is drawn as two columns of windows: its opening in light, its map in dark.
VIEWS = (("light", "header"), ("dark", "#samples-map"))


def capture(driver: webdriver.Chrome, page: Path, scheme: str, selector: str) -> str:
    """One view of the page, from the top of an element, as the address of an image."""
    command = driver.execute_cdp_cmd
    metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    command("Emulation.setDeviceMetricsOverride", metrics)
    wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    command("Emulation.setEmulatedMedia", {"features": features})
    driver.get(page.as_uri())
    driver.execute_script(
        "scrollTo(0, document.querySelector(arguments[0]).getBoundingClientRect().top - 24);"
        "const stage = document.getElementById('stage');"
        "if (arguments[0] !== 'header') stage.dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'Home'}))",
        selector,
    )
    image = command("Page.captureScreenshot", {"format": "png"})["data"]
    return f"data:image/png;base64,{image}"


def main() -> None:
    default = Path(__file__).parent / "images" / "report.png"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    with tempfile.TemporaryDirectory() as folder:
        for flag in (*FLAGS, f"--user-data-dir={folder}/profile"):
            options.add_argument(flag)
        page = demo.show(demo.explore()).save(Path(folder, "report.html"))
        service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
        driver = webdriver.Chrome(options=options, service=service)
        try:
            views = [capture(driver, page, *view) for view in VIEWS]
            sheet = Path(folder, "sheet.html")
            images = "".join(f'<img src="{view}">' for view in views)
            style = "body{margin:0;display:flex}img{width:50%}"
            sheet.write_text(f"<!DOCTYPE html><style>{style}</style>{images}", encoding="utf-8")
            driver.get(sheet.as_uri())
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT / 2, "scale": 1.3}
            shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
        finally:
            driver.quit()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
