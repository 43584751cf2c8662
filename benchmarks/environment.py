"""What is measured on, and the separate environment in which the peers are installed."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PEER_FOLDER = ROOT / ".bench-venv"
PEERS = ("tensorly", "proxmin")
# matrix-fact asks for PyTorch, which its NumPy class SNMF does not use (see `peers`): it is
# installed without what it asks for, and what it does use is named here.
BARE_PEERS = {"matrix-fact": ("cvxopt",)}
_REPORTED = ("numpy", "scipy", "numba", "scikit-learn", *PEERS, *BARE_PEERS)
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def peer_python() -> Path:
    """The interpreter of the peers' environment."""
    return PEER_FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def set_up_peers() -> None:
    """Make the peers' environment: each package by itself, so that one failure spoils no other."""
    if not peer_python().exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEER_FOLDER)], check=True)
    constraints = ["-c", str(ROOT / "constraints.txt")]
    _install("-e", str(ROOT), *constraints, check=True)
    for name in PEERS:
        _install(name, *constraints)
    for name, needs in BARE_PEERS.items():
        _install("--no-deps", name)
        _install(*needs, *constraints)


def _install(*arguments: str, check: bool = False) -> None:
    pip = [str(peer_python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *arguments], check=check)
    if done.returncode:
        print(f"could not install {' '.join(arguments)}; its rows will say so", file=sys.stderr)


def thread_settings(threads: int) -> dict[str, str]:
    """Environment variables that hold BLAS, OpenMP and numba to a number of threads."""
    return dict.fromkeys(_THREAD_VARIABLES, str(threads))


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _commit() -> str:
    """The commit, with ``+`` after it if the sources differ from it."""
    git = ["git", "-C", str(ROOT)]
    try:
        name = subprocess.run(
            [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
        )
        changes = subprocess.run(
            [*git, "status", "--porcelain", "--", "src"], capture_output=True, text=True
        )
    except OSError:
        return ""
    return name.stdout.strip() + ("+" if changes.stdout.strip() else "")


def processor_seconds() -> float:
    """Those that this process has used, and processes that it started and that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _busy_seconds() -> float:
    """Seconds for which the cores of this machine have been busy; nan where that is not told."""
    try:
        numbers = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    except OSError:
        return float("nan")
    user, nice, system, _, _, irq, softirq, steal = map(int, numbers[:8])
    return (user + nice + system + irq + softirq + steal) / 100


class Others:
    """How many cores processes that are not ours keep busy, from now on."""

    def __init__(self) -> None:
        self._before, self._begun = _busy_seconds() - processor_seconds(), perf_counter()

    def load(self, used: float = 0.0) -> float:
        """``used``: processor seconds of processes that are ours and have not ended."""
        others = _busy_seconds() - processor_seconds() - used - self._before
        return round(max(others / (perf_counter() - self._begun), 0.0), 2)


def describe() -> dict[str, Any]:
    """The fields of a `Result` that do not depend on what is measured."""
    versions = []
    for name in _REPORTED:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "machine": _processor(),
        "cores": os.cpu_count() or 0,
        "python": platform.python_version(),
        "versions": ", ".join(versions),
    }
