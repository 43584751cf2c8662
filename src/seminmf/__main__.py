"""``python -m seminmf`` is the command ``seminmf``."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

# As the command line has it, which is not there yet when this counts.
_INTERRUPTED = 130


def main() -> None:
    """Entry point of the command: whoever presses Ctrl-C while it loads sees no traceback."""

    def leave(*_: Any) -> None:
        os._exit(_INTERRUPTED)

    before = None
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, leave)
    from .cli import main as run

    if before is not None:
        signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
