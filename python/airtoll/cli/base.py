"""Shared parts of the commands: types of parameters, an argument, and groups whose help has panels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import click

FILE: Final = click.Path(path_type=Path, readable=False)
"""A file that the command itself opens or writes: its own error names the file and the reason."""

DIRECTORY: Final = click.Path(path_type=Path)

result_argument = click.argument("directory", type=DIRECTORY, metavar="DIR", help="A result directory.")


_BIDIRECTIONAL: Final = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that change the direction of text (Unicode Standard Annex 9), and with it the order of its characters."""

_CONTROLS: Final = {
    code: chr(code).encode("unicode_escape").decode("ascii")
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *_BIDIRECTIONAL)
    if chr(code) not in "\n\t"
}


def harmless(text: str) -> str:
    """The text with control and bidirectional characters as escapes: a stranger's text must not drive the terminal."""
    return text.translate(_CONTROLS)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print harmless text without the width and the tables of a console, whose import takes longer."""
    click.echo(harmless(text), err=err, nl=nl)


class PanelGroup(click.Group):
    """A group whose help names its commands by panel, in the order of `panels`."""

    panels: ClassVar[Mapping[str, Sequence[str]]] = {}
    """The names of the commands by panel. Without panels, all commands are in one, by name."""

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke the command. An error of its options names the command, which click leaves out of some of them."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            if error.ctx is None and name is not None and name in self.commands:
                error.ctx = click.Context(self.commands[name], parent=ctx, info_name=name)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands in the order of the help."""
        return [name for names in self.panels.values() for name in names] or super().list_commands(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one line per command: its name and the first sentence of its help, which click would shorten."""
        panels = self.panels or {"Commands": self.list_commands(ctx)}
        width = max(map(len, self.list_commands(ctx)))
        for panel, names in panels.items():
            with formatter.section(panel):
                helps = [self.commands[name].get_short_help_str(limit=1000) for name in names]
                formatter.write_dl(
                    [(name.ljust(width), text) for name, text in zip(names, helps, strict=True)]
                )
