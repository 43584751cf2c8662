"""What all commands share: common options, one-line errors, exit codes."""

from __future__ import annotations

import errno
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from typing import Annotated, Any, get_origin

from .._terminal import speak_plainly

try:
    import typer
    from typer.core import TyperCommand, TyperGroup

    from ._talk import Talk, one_line
except ImportError as error:  # pragma: no cover
    raise SystemExit('The command line needs: pip install "seminmf[cli]"') from error

FAILURE, BAD_INPUT, INTERRUPTED = 1, 2, 130
# Terminals are not narrower than so many characters.
_NARROWEST = 10
# Mistakes of the one who calls, not of the program: what is passed, and the files it names.
_BAD_INPUT = (
    ValueError, FileNotFoundError, IsADirectoryError, NotADirectoryError, FileExistsError,
    PermissionError,
)  # fmt: skip
_COMMON = {
    "json": Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")],
    "quiet": Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.")
    ],
    "debug": Annotated[bool, typer.Option("--debug", help="Show where an error came from.")],
}


class Stopped(Exception):  # noqa: N818
    """The command was interrupted, and has left things in order."""


def _without_types(parameters: list[Any]) -> list[Any]:
    """Flags take no value: the help does not show them a type."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


class PlainCommand(TyperCommand):
    """A command whose help is plain."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class OneLineGroup(TyperGroup):
    """Mistakes in the arguments are one line too, or one object for machines."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """What most come for is first."""
        return sorted(super().list_commands(ctx), key=lambda name: name != "fit")

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        speak_plainly()
        if os.environ.get("COLUMNS", "").isdecimal() and int(os.environ["COLUMNS"]) < _NARROWEST:
            del os.environ["COLUMNS"]  # which rich would say nothing in
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except BrokenPipeError:
            raise
        except OSError as error:
            Talk().fail(_words(error), FAILURE)
            code = FAILURE
        except Exception as error:
            # Typer brings its own exceptions of this kind in some versions, click's in others.
            if not hasattr(error, "format_message"):
                raise
            code = BAD_INPUT
            context = getattr(error, "ctx", None)
            if type(error).__name__ == "NoArgsIsHelpError":
                sys.stderr.write(error.format_message() + "\n")
            else:
                path = "seminmf" if context is None else context.command_path
                message = one_line(error.format_message()).rstrip(".")
                machine = "--json" in (sys.argv[1:] if args is None else args)
                Talk(as_json=machine).fail(f"{message}. See {path} --help.", code)
        code = code if isinstance(code, int) else 0
        if standalone_mode:
            sys.exit(code)
        return code


def group(name: str, help: str, example: str) -> typer.Typer:
    return typer.Typer(
        name=name,
        cls=OneLineGroup,
        help=help,
        epilog=f"Example: {example}",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )


app = group(
    "seminmf",
    "Robust semi-non-negative matrix factorization: parts, clusters, outliers.",
    "seminmf fit signals.csv -k 10 --out result",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        sys.stdout.write(f"seminmf {__version__}\n")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    pass


def command(
    where: typer.Typer, example: str, name: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function of (talk, own parameters …) as a command with the common options."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        # A parameter that is a dataclass stands for the options of which one is made.
        groups: dict[str, Any] = {p.name: p.annotation for p in own if is_dataclass(p.annotation)}
        taken = {name: _options_of(kind) for name, kind in groups.items()}
        own = [inner for p in own for inner in taken.get(p.name, [p])]
        common = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
            for key, kind in _COMMON.items()
        ]

        def run(**arguments: Any) -> None:
            options = {key: arguments.pop(key) for key in _COMMON}
            talk = Talk(quiet=options["quiet"], as_json=options["json"], debug=options["debug"])

            def call(talk: Talk) -> None:
                for name, kind in groups.items():
                    chosen = {p.name: arguments.pop(p.name) for p in taken[name]}
                    arguments[name] = kind(**chosen)
                function(talk, **arguments)

            code = _guarded(call, talk)
            if code:
                raise typer.Exit(code)

        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + common
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        where.command(name, cls=PlainCommand, epilog=f"Example: {example}")(run)
        return function

    return register


def _options_of(kind: Any) -> list[inspect.Parameter]:
    """The fields of a dataclass that are annotated as options."""
    arguments = inspect.signature(kind, eval_str=True).parameters.values()
    return [p for p in arguments if get_origin(p.annotation) is Annotated]


def _guarded(call: Callable[[Talk], None], talk: Talk) -> int:
    """Run a command; the exit code."""
    try:
        with talk.hearing_warnings():
            call(talk)
            talk.finish()
    except Stopped as stop:
        talk.errors.print(one_line(stop), markup=False)
        talk.finish()
        return INTERRUPTED
    except KeyboardInterrupt:
        talk.fail("interrupted; nothing was written.", INTERRUPTED)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough; what Python still wants to flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except Exception as error:
        if hasattr(error, "exit_code"):  # typer's own: how the command line says exit
            raise
        code = BAD_INPUT if isinstance(error, _BAD_INPUT) else FAILURE
        if talk.debug:
            traceback.print_exc(file=sys.stderr)
        talk.fail(_words(error), code)
        return code
    return 0


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO):
        # Files say their names.
        return f"standard output cannot be written: {error.strerror}."
    if isinstance(error, MemoryError):
        return "there is not enough memory; use fewer rows or columns."
    if isinstance(error, (*_BAD_INPUT, ImportError, FloatingPointError, OSError)):
        return str(error)
    return f"{type(error).__name__}: {error} (--debug shows where)"
