"""How much memory is available."""

from __future__ import annotations

import os
from pathlib import Path


def available() -> int:
    """Bytes that this process may still allocate."""
    try:
        words = Path("/proc/meminfo").read_text(encoding="ascii").split()
        free = 1024 * int(words[words.index("MemAvailable:") + 1])
        used = os.sysconf("SC_PAGE_SIZE") * int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):  # pragma: no cover - not Linux
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return free if most == resource.RLIM_INFINITY else min(free, most - used)
