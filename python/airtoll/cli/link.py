"""`airtoll link`: runs one end of a protected link, or prints the status of a running link."""

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from airtoll.cli.json_output import only_one, print_json
from airtoll.errors import AirtollError, UsageError

_RUN: Final = Path("/run/airtoll")

link = typer.Typer(
    help="Protect an open Wi-Fi or Ethernet network between hosts, with keys and ciphers on the CPU.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ConfigArgument = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG",
        help="Configuration file (TOML), see docs/how-to/protect-an-open-network.md.",
        readable=False,
    ),
]


@link.command("ap")
def access_point(config: ConfigArgument) -> None:
    """Run the access point of a link until SIGINT or SIGTERM."""
    _run(access_point=True, config=config)


@link.command("sta")
def station(config: ConfigArgument) -> None:
    """Run one station of a link until SIGINT or SIGTERM."""
    _run(access_point=False, config=config)


@link.command("status")
def status(
    at: Annotated[
        Path | None,
        typer.Option(
            "--socket",
            metavar="PATH",
            help="Status socket of the link.",
            readable=False,
            show_default="the only socket in /run/airtoll",
        ),
    ] = None,
    openmetrics: Annotated[bool, typer.Option("--openmetrics", help="Print OpenMetrics text.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: the default.")] = False,
) -> None:
    """Print the status of a running link as JSON."""
    only_one(json=as_json, openmetrics=openmetrics)
    answer = _ask(at or _only_socket(), "openmetrics" if openmetrics else "status")
    if openmetrics:
        typer.echo(answer.rstrip("\n"))
    else:
        print_json(json.loads(answer))


def _run(*, access_point: bool, config: Path) -> None:
    from airtoll._rust import run_link

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
