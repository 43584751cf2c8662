"""``python -m seminmf`` is the command ``seminmf``."""

from __future__ import annotations

# No other imports: a Ctrl-C while they load, before `main` begins, would show a traceback.
import os
import signal
import sys

# As in the command line, which is not loaded yet when this counts.
_INTERRUPTED = 130


def main() -> None:
    """Entry point of the command; Ctrl-C while it loads shows no traceback."""

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
        # Release what processes share, or its keeper complains about it.
        shared = sys.modules.get("multiprocessing.util")
        if shared is not None:
            shared._run_finalizers(0)
        # Python itself might end by the signal, if the interrupt came inside of an exec.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
