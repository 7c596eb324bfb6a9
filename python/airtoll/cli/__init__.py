"""The `airtoll` command: parsing and printing only.

Every command imports the stages it needs when it runs, so that `--help` is fast. Commands with the options of a stage
import that stage when they are called. Exit status: 0 success, 1 failure, 2 invalid request.
"""

import os
import re
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from airtoll.cli.json_output import JsonOption
from airtoll.cli.judging import ResultArgument, compare, gate, import_, metrics
from airtoll.cli.link import link
from airtoll.cli.rtl import rtl
from airtoll.errors import AirtollError, UsageError

_SETTINGS = {"help_option_names": ["-h", "--help"]}

_PANELS: Final = {
    "Measure": ("doctor", "studies", "plan", "run"),
    "Results": ("report", "compare", "gate", "verify", "import", "metrics"),
    "Predict": ("model", "simulate", "sweep"),
    "Frames": ("decrypt", "ciphers"),
    "Network": ("link",),
    "Hardware": ("rtl",),
}
"""The commands in the order of a user's work, by the panel of `airtoll --help`."""


class _Commands(TyperGroup):
    """The commands; `simulate` and `model` load their options, the keys of a scenario, when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as in the base class
        return [name for names in _PANELS.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command: Any = super().get_command(ctx, cmd_name)
        for panel, names in _PANELS.items():
            if cmd_name in names:
                command.rich_help_panel = panel
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name in ("simulate", "model"):
            from airtoll.cli.scenario import command_of

            command = command_of(name, _SETTINGS)
        _take_help_literally(command)
        return name, command, rest


def _take_help_literally(command: Any) -> None:
    """Escape the help of a command and its subcommands: typer would take "[link]" for markup and not print it."""
    for described in (command, *command.params):
        if "[" in (text := getattr(described, "help", None) or ""):
            from rich.markup import escape

            described.help = escape(text)
    for below in getattr(command, "commands", {}).values():
        _take_help_literally(below)


app = typer.Typer(
    cls=_Commands,
    help="Measure what securing a wireless LAN costs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)

studies = typer.Typer(context_settings=_SETTINGS)

StudyArgument = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="A study file, or the name of a study that `airtoll studies` lists."
    ),
]
StudyOrResultArgument = Annotated[
    str,
    typer.Argument(
        metavar="STUDY|DIR",
        help="A study file, or the name of a study that `airtoll studies` lists. With --resume and without --out: the "
        "result directory of the interrupted run.",
    ),
]
LabOption = Annotated[
    str | None, typer.Option("--lab", metavar="LAB", help="Measure in this lab instead of the study's lab.")
]
AllowMixedOption = Annotated[
    bool,
    typer.Option(
        "--allow-mixed",
        help="With --resume: continue even if the version, commit, CPU or kernel has changed. "
        "Every part records its own.",
    ),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Fewer and shorter runs, as in the study's [quick] table.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        from airtoll._rust import VERSION

        typer.echo(f"airtoll {VERSION}")
        raise typer.Exit


@app.callback()
def airtoll(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure what securing a wireless LAN costs."""


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Check what this machine can measure, and list what to install."""
    from airtoll.cli.doctor import examine

    raise typer.Exit(examine(as_json=as_json))


@studies.callback(invoke_without_command=True)
def list_or_ask(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the studies shipped with airtoll, or print the published figures of one."""
    if context.invoked_subcommand is None:
        from airtoll.cli.planning import list_studies

        list_studies(as_json=as_json)
    elif as_json:
        raise UsageError(f"--json: must follow {context.invoked_subcommand}")


@studies.command("published")
def print_publication(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A published study, such as kolahi-11ac.")],
    csv: Annotated[bool, typer.Option("--csv", help="Print the points as CSV.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the published figures of a study and the findings of recomputing them."""
    from airtoll.cli.published import print_published

    print_published(name, as_csv=csv, as_json=as_json)


@app.command()
def plan(
    study: StudyArgument, lab: LabOption = None, quick: QuickOption = False, as_json: JsonOption = False
) -> None:
    """Print the runs of a study without performing them."""
    from airtoll.cli.planning import print_plan

    print_plan(study, lab, quick=quick, as_json=as_json)


@app.command()
def run(
    study: StudyOrResultArgument,
    lab: LabOption = None,
    quick: QuickOption = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Result directory.", show_default="results/STUDY-TIME"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Complete the interrupted run in DIR.")] = False,
    allow_mixed: AllowMixedOption = False,
    pcap: Annotated[
        bool, typer.Option("--pcap", help="Capture the air in every run (radiotap, LINKTYPE 127).")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Perform a study: measure every run, keep the record, print the table and write the report.

    Exit status: 0 if every planned comparison has at least two valid pairs of runs, or one if only one is planned (a
    study of one security level needs one valid run per cell); 1 if a comparison has fewer, or if the study could not
    be completed; 2 if the request is invalid. With status 1 the report is written if the study was completed.
    """
    from airtoll.cli.running import perform

    perform(
        study, lab, quick=quick, out=out, resume=resume, allow_mixed=allow_mixed, pcap=pcap, as_json=as_json
    )


@app.command()
def simulate() -> None:
    """Run one cell in virtual time: throughput, delay, jitter, loss and airtime shares."""


@app.command()
def model() -> None:
    """Predict one cell by closed forms: one station, many stations, the cost of security."""


@app.command()
def sweep(
    grid: Annotated[Path, typer.Argument(metavar="GRID", help="A grid file.", readable=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Output file (Parquet).",
            readable=False,
            show_default="results/GRID-TIME.parquet",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Complete an interrupted sweep to --out FILE.")
    ] = False,
    allow_mixed: AllowMixedOption = False,
    csv: Annotated[bool, typer.Option("--csv", help="Also write the table as CSV, beside FILE.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Also write the table as JSON, beside FILE.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", min=1, help="Number of cells in parallel.", show_default="one per core"
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS|local",
            help="Run on this Dask cluster, or on a local one; requires airtoll[dask].",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run a grid of cells in virtual time, on all cores or on a Dask cluster, and write one table."""
    from airtoll.cli.sweeping import perform_sweep

    formats = [name for name, wanted in (("csv", csv), ("json", as_json)) if wanted]
    perform_sweep(
        grid,
        out,
        resume=resume,
        allow_mixed=allow_mixed,
        formats=formats,
        workers=workers,
        scheduler=scheduler,
    )


@app.command()
def verify(directory: ResultArgument, as_json: JsonOption = False) -> None:
    """Check a result directory: checksums, completeness, schema."""
    from airtoll.cli.results import verify_result

    raise typer.Exit(verify_result(directory, as_json=as_json))


@app.command()
def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Result directories.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Directory of the report; for several results, directory of the index page.",
            show_default="the result directory",
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="Also write the figures as SVG and PDF and the tables as CSV and LaTeX, into DIR/paper.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a result as HTML, Markdown and CSV; for several results, also an index page."""
    from airtoll.cli.results import report_results

    report_results(directories, out, paper=paper, as_json=as_json)


for _command in (compare, gate, metrics):
    app.command()(_command)
app.command("import")(import_)


@app.command()
def decrypt(
    capture: Annotated[
        Path,
        typer.Argument(metavar="CAPTURE", help="A capture of 802.11 frames: pcap or pcapng.", readable=False),
    ],
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="HEX",
            help="A WEP key, 5 or 13 octets in hexadecimal digits, with or without colons; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    psk: Annotated[
        str | None,
        typer.Option(
            "--psk",
            metavar="PASSPHRASE",
            help="The passphrase of the network, or its PSK as 64 hexadecimal digits. Other users can see it in the "
            "list of processes; --psk-file avoids that.",
            show_default=False,
        ),
    ] = None,
    psk_file: Annotated[
        Path | None,
        typer.Option(
            "--psk-file",
            metavar="FILE",
            help="A file with the passphrase or PSK as its only line.",
            readable=False,
            show_default=False,
        ),
    ] = None,
    ssid: Annotated[
        str | None,
        typer.Option(
            "--ssid",
            metavar="SSID",
            help="The network of the passphrase.",
            show_default="every network whose SSID is in CAPTURE",
        ),
    ] = None,
    pmk: Annotated[
        list[str] | None,
        typer.Option(
            "--pmk",
            metavar="HEX",
            help="A pairwise master key, for example from SAE or OWE; may be given repeatedly.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Output file (pcap).",
            readable=False,
            show_default="NAME-dec.pcap beside CAPTURE",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Decrypt a capture: write its Ethernet frames to a pcap file and print the number of frames per outcome.

    WEP frames are decrypted with --key. For TKIP, CCMP and GCMP the 4-way handshake of each station must be in the
    capture, before its frames.

    Exit status: 0 if frames were decrypted; 1 if no frame was decrypted (no output is written); 2 if a file or a key
    is invalid, or if the capture is truncated (the frames before that point are decrypted).
    """
    from airtoll.cli.decrypt import decrypt_file, read_secrets

    secrets = read_secrets(key or [], psk, psk_file, ssid, pmk or [])
    decrypt_file(capture, secrets, out, as_json=as_json)


@app.command()
def ciphers(
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            metavar="SUITE",
            help="Measure this cipher suite, spelled as in studies; may be given repeatedly.",
            show_default="all",
        ),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size",
            metavar="BYTES|imix",
            help="Measure payloads of this size; may be given repeatedly.",
            show_default="ten sizes",
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            metavar="BACKEND",
            help="Backend of the engine: portable, aesni, vaes256 or vaes512.",
            show_default="the fastest",
        ),
    ] = None,
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", metavar="FILE", help="Also plot speed over size: .svg, .png or .html."),
    ] = None,
) -> None:
    """Measure how fast this machine protects frames, compared with OpenSSL and libipsec-mb (half a minute)."""
    from airtoll.cli.ciphers import benchmark

    benchmark(suite or (), size or (), backend, as_json=as_json, as_markdown=markdown, figure=figure)


app.add_typer(studies, name="studies")
app.add_typer(link, name="link")
app.add_typer(rtl, name="rtl")


_FORMER_OPTIONS: Final[dict[str, dict[str, str]]] = {}
"""Options of earlier versions by command ("rtl report"), each with what became of it ("was renamed to --new")."""


def _fate_of_option(command: str, option: str) -> str | None:
    """Explain an option of an earlier version, or return None. Options of a scenario are the keys of `Scenario`."""
    name = command.partition(" ")[2]
    if name in ("simulate", "model"):
        from airtoll.study.scenario import Scenario

        fate = Scenario.FORMER.get(option.removeprefix("--").replace("-", "_"))
        return fate and re.sub("'([a-z_]+)'", lambda new: f"--{new[1].replace('_', '-')}", fate)
    return _FORMER_OPTIONS.get(name, {}).get(option)


# Typer exports no other name for the error of an unknown option or a missing argument.
_RequestError: Any = typer.BadParameter.__base__


def main() -> None:
    """Entry point: every failure ends with one line on stderr and an exit status."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A file name may be invalid UTF-8; its bytes are printed unchanged.
        sys.stdout.reconfigure(errors="surrogateescape")
    try:
        # Not standalone: typer would frame its errors and exit.
        status = app(standalone_mode=False, prog_name="airtoll")
    except _RequestError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            raise SystemExit(error.exit_code) from None
        command = getattr(error.ctx, "command_path", "airtoll")
        option = getattr(error, "option_name", None)
        if option is not None and (fate := _fate_of_option(command, option)) is not None:
            _fail(f"{option} {fate}; see {command} --help", error.exit_code)
        _fail(f"{error.format_message().removesuffix('.')}; see {command} --help", error.exit_code)
    except AirtollError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except BrokenPipeError:
        # The reader closed the pipe, as in `airtoll plan | head`: not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)

    else:
        raise SystemExit(status)


def _fail(message: str, status: int) -> None:
    if os.environ.get("AIRTOLL_TRACEBACK"):
        import traceback

        traceback.print_exc()
    typer.echo(f"airtoll: {message}", err=True)
    raise SystemExit(status) from None
