"""The `chainrule` command: its group, its exit codes, and how it ends."""

from __future__ import annotations

import enum
import errno
import importlib
import io
import os
import re
import sys
from typing import Any, NoReturn

import click

from chainrule import ChainruleError, __version__

from .diagnostics import report_error

DEFAULT = "grad"
COMMANDS = {
    "grad": "Show the graph of an expression, its gradients, and SymPy's check of them.",
    "diff": "Differentiate an expression: the derivative as a formula, or as code in another language.",
    "verify": "Check derivatives that were worked out by hand.",
    "batch": "Evaluate and differentiate files and pipes of expressions, a line each.",
    "graph": "Draw the graph of an expression, with what flows along its edges.",
    "plot": "Plot a function and its derivative, or contours and the gradient.",
    "explain": "Show backpropagation step by step, with the chain rule written out.",
    "functions": "List the functions of the language, or explain one.",
}


class ExitStatus(enum.IntEnum):
    """What the command's exit status says."""

    OK = 0
    FAILED = 1  # a line failed, or a claim is not verified
    UNUSABLE = 2  # usage, a file that cannot be read, an error in the only expression
    INTERRUPTED = 130


class ClosedPipeError(Exception):
    """Whoever reads the output has stopped reading."""


class DefaultGroup(click.Group):
    """A group whose commands are imported when used, and for which `chainrule EXPR` means `chainrule grad EXPR`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order of the table above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's file and return it."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"chainrule.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed pipe is no error of click's to report."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipeError from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before arguments that name none."""
        if args and args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version"):
            word = args[0]
            import difflib

            close = difflib.get_close_matches(word, COMMANDS, n=1, cutoff=0.7)
            if close and re.fullmatch("[a-z]+", word):
                raise click.UsageError(
                    f"No such command {word!r}. Did you mean {close[0]!r}? "
                    f"(To differentiate {word} as an expression: chainrule {DEFAULT} {word})"
                )
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.command(
    cls=DefaultGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`chainrule EXPR …` is `chainrule grad EXPR …`.",
)
@click.version_option(__version__, prog_name="chainrule", message="%(prog)s %(version)s")
def group() -> None:
    """Differentiate expressions: values, gradients, the graph, and an independent check.

    \b
        chainrule grad 'y = (x+w)*(w+1)' x=2 w=1
        chainrule verify 'y = x^2' 'dy/dx = 2*x'
        chainrule functions tanh
    """


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command and exit with an `ExitStatus`. Errors, Ctrl-C and a closed pipe show no traceback."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status: Any = group.main(args, prog_name="chainrule", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        status = ExitStatus.UNUSABLE
    except ChainruleError as error:
        report_error(error)
        status = ExitStatus.UNUSABLE
    except MemoryError:
        click.echo("error: the memory does not suffice", err=True)
        status = ExitStatus.UNUSABLE
    except (KeyboardInterrupt, click.Abort):
        status = ExitStatus.INTERRUPTED
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EINVAL):
            click.echo(f"error: the output cannot be written: {error.strerror}", err=True)
        _forget_output()
        status = ExitStatus.OK if error.errno == errno.EPIPE else ExitStatus.UNUSABLE
    except ClosedPipeError:
        _forget_output()
        status = ExitStatus.OK
    sys.exit(int(status or ExitStatus.OK))


def _forget_output() -> None:
    """Let what is left in the buffer go nowhere: nothing more can be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
