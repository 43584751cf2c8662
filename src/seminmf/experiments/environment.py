"""Versions and machine, so that a row tells what made it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import lru_cache

from ..models.persistence import package_version

_PACKAGES = ("seminmf", "numpy", "scipy", "scikit-learn", "numba")


def _processor() -> str:
    """The processor's name where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """Versions of Python and the packages, operating system and processor; no names of people."""
    found = {"python": platform.python_version()}
    found |= {package: package_version(package) for package in _PACKAGES}
    found["system"] = f"{platform.system()} {platform.machine()}"
    found["processor"] = f"{_processor()}, {os.cpu_count()} cores"
    return found


@lru_cache(maxsize=1)
def environment_id() -> str:
    """Short name of the environment: eight digits of a hash."""
    text = json.dumps(environment(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
