"""``python -m seminmf`` is the command ``seminmf``."""

from __future__ import annotations

# Nothing else: what loads before `main` begins is met by a Ctrl-C with a traceback.
import os
import signal
import sys

# As the command line has it, which is not there yet when this counts.
_INTERRUPTED = 130


def main() -> None:
    """Entry point of the command: whoever presses Ctrl-C while it loads sees no traceback."""

    def leave(*_: object) -> None:
        os._exit(_INTERRUPTED)

    try:
        before = signal.signal(signal.SIGINT, leave)
    except ValueError:  # only the main thread may
        before = None
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("typer", "rich"):
            raise
        sys.exit(
            f"Error: the command needs {package}: pip install '.[cli]' in a clone of the "
            "repository. (seminmf.demo and all of the library work without.)"
        )
    if before is not None:
        signal.signal(signal.SIGINT, before)
    try:
        run()
    except (SystemExit, KeyboardInterrupt) as end:
        if isinstance(end, SystemExit) and end.code != _INTERRUPTED:
            raise
        # What processes have shared is given back, or its keeper complains about it.
        shared = sys.modules.get("multiprocessing.util")
        if shared is not None:
            shared._run_finalizers(0)
        # Left to itself Python may end by the signal, if it met the interrupt inside of an exec.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
