"""The demonstration: what it claims, and the page it writes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seminmf import demo


@pytest.fixture(scope="module")
def findings() -> demo.Findings:
    return demo.explore(600)


def test_the_robust_model_is_the_better_one(findings: demo.Findings) -> None:
    assert findings.robust_accuracy > 0.7
    assert findings.robust_accuracy > findings.plain_accuracy + 0.1
    assert findings.caught >= 55
    assert findings.auc > 0.94


def test_the_page_is_the_report_of_the_robust_model(findings: demo.Findings) -> None:
    page = demo.show(findings).html
    assert "L21SemiNMF wrote 600 samples of 21 features as sums of 10 parts" in page
    assert "Noisy signals" in page
    for kind in demo.KINDS:
        assert kind in page


def test_the_command(
    findings: demo.Findings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(demo, "explore", lambda: findings)
    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(tmp_path / "report")])
    demo.main()
    page = tmp_path / "report" / "index.html"
    assert page.exists()
    assert capsys.readouterr().out.splitlines()[-1] == f"Report: {page}"
