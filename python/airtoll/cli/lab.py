"""`airtoll lab`: builds the guest of the virtual clock, and opens a shell in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, get_args

import click

from airtoll.cli.base import PanelGroup
from airtoll.cli.json_output import json_option, print_json
from airtoll.clock import Clock
from airtoll.errors import StoppedError

if TYPE_CHECKING:
    from rich.console import Console

    from airtoll.guest.build import OnProgress, Progress


_LINES = 10
"""Lines with the number of compiled objects that a build prints if it does not print to a terminal."""


@click.group(cls=PanelGroup)
def lab() -> None:
    """Build the guest in which labs have a virtual clock, or open a shell in it."""


@lab.command("build")
@click.option("--mirror", metavar="URL", help="Mirror of Debian's packages.", show_default="deb.debian.org")
@click.option("--force", is_flag=True, help="Build again although the guest is built.")
@json_option
def build_guest(mirror: str | None, force: bool, as_json: bool) -> None:
    """Download, patch and compile the guest's kernel, unless it is built already.

    The kernel comes from a source package of Debian and is kept below ~/.cache/airtoll. No root is required.
    """
    from dataclasses import asdict

    from airtoll.cli.tables import plain_console
    from airtoll.guest import build, recipe

    console = plain_console(stderr=as_json, soft_wrap=True)
    kernel = None if force else recipe.built()
    if kernel is None:
        console.print(build.outlook())
        try:
            with _shown(console) as show:
                kernel = build.build(mirror or build.MIRROR, show)
        except KeyboardInterrupt:
            raise StoppedError("interrupted; to continue: airtoll lab build") from None
    if as_json:
        print_json(asdict(kernel) | {"file": str(kernel.file)})
    else:
        console.print(
            f"guest: {kernel.package} {kernel.version}, {kernel.size_bytes / 1e6:.0f} MB, {kernel.file}"
        )


@lab.command("shell")
@click.option(
    "--clock",
    type=click.Choice(get_args(Clock)),
    default="real",
    show_default=True,
    help="The guest's clock. With the virtual clock, a shell that waits for input lets time stand still.",
)
def open_shell(clock: Clock) -> None:
    """Open a shell in a guest: root there, with this machine's files, which it cannot change."""
    from airtoll.guest import boot, recipe

    boot.shell(recipe.needed(), clock)


@contextmanager
def _shown(console: "Console") -> "Iterator[OnProgress]":
    """Show the progress of a build: a bar on a terminal, otherwise one line per step."""
    from airtoll.cli.progress import counting

    said = ("", 0)
    with counting(console, share=True) as bar:
        task = bar.add_task("starting", total=1.0)

        def show(progress: "Progress") -> None:
            nonlocal said
            doing, step = progress.doing, 1
            if progress.total:
                step = progress.total // _LINES
                doing += f": {progress.objects} of about {progress.total} objects"
            bar.update(task, description=doing, completed=progress.share)
            now = (progress.doing, progress.objects // step)
            if not console.is_terminal and now != said:
                console.print(doing)
            said = now

        yield show
