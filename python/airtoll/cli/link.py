"""`airtoll link`: runs one end of a protected link, or prints the status of a running link."""

from pathlib import Path
from typing import Final

import click

from airtoll.cli.base import FILE, PanelGroup, echo
from airtoll.cli.json_output import only_one, print_json
from airtoll.errors import AirtollError, UsageError

_RUN: Final = Path("/run/airtoll")

config_argument = click.argument(
    "config",
    type=FILE,
    metavar="CONFIG",
    help="Configuration file (TOML), see docs/how-to/protect-an-open-network.md.",
)


@click.group(cls=PanelGroup)
def link() -> None:
    """Protect an open Wi-Fi or Ethernet network between hosts, with keys and ciphers on the CPU."""


@link.command("ap")
@config_argument
def access_point(config: Path) -> None:
    """Run the access point of a link until SIGINT or SIGTERM."""
    _run(access_point=True, config=config)


@link.command("sta")
@config_argument
def station(config: Path) -> None:
    """Run one station of a link until SIGINT or SIGTERM."""
    _run(access_point=False, config=config)


@link.command("status")
@click.option(
    "--socket",
    "at",
    type=FILE,
    metavar="PATH",
    show_default="the only socket in /run/airtoll",
    help="Status socket of the link.",
)
@click.option("--openmetrics", is_flag=True, help="Print OpenMetrics text.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the default.")
def status(at: Path | None, openmetrics: bool, as_json: bool) -> None:
    """Print the status of a running link as JSON."""
    only_one(json=as_json, openmetrics=openmetrics)
    path = at or _only_socket()
    answer = _ask(path, "openmetrics" if openmetrics else "status")
    if openmetrics:
        echo(answer.rstrip("\n"))
    else:
        from airtoll.documents import read_json
        from airtoll.link_status import STATUS

        print_json(read_json(STATUS, answer, str(path)))


def _run(*, access_point: bool, config: Path) -> None:
    from airtoll._rust import run_link

    if config.is_char_device() or config.is_block_device():  # reading it may never end
        raise UsageError(f"{config}: is a device; expected a configuration file")
    try:
        run_link(access_point, config)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except RuntimeError as error:
        raise AirtollError(str(error)) from None


def _only_socket() -> Path:
    found = sorted(_RUN.glob("*.sock"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"no link is running: no socket in {_RUN}; use --socket PATH for a socket elsewhere")
    raise UsageError(f"several links are running: use --socket {' or '.join(map(str, found))}")


def _ask(path: Path, request: str) -> str:
    from airtoll.link_status import ask_link

    try:
        answer = ask_link(path, request)
    except OSError as error:
        raise AirtollError(f"{path}: {error.strerror or error}") from None
    if not answer:
        raise AirtollError(f"{path}: the link did not answer")
    return answer
