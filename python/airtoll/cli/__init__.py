"""The `airtoll` command: parsing and printing only.

Every command imports the stages it needs when it runs, so that `--help` is fast. Commands with the options of a stage
import that stage when they are called. Exit status: 0 success, 1 failure, 2 invalid request.
"""

import codecs
import os
import re
import signal
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Any, ClassVar, Final, get_args

import click

from airtoll.cli.base import DIRECTORY, FILE, PanelGroup, harmless, result_argument
from airtoll.cli.hosts import hosts
from airtoll.cli.json_output import json_option
from airtoll.cli.judging import compare, gate, import_, metrics
from airtoll.cli.lab import lab
from airtoll.cli.link import link
from airtoll.cli.rtl import rtl
from airtoll.clock import ClockChoice
from airtoll.errors import AirtollError, StoppedError, UsageError


class _Commands(PanelGroup):
    """The commands; `simulate` and `model` load their options, the keys of a scenario, when they are called."""

    panels: ClassVar = {
        "Measure": ("doctor", "studies", "plan", "run", "lab", "hosts"),
        "Results": ("report", "compare", "gate", "verify", "import", "metrics"),
        "Predict": ("model", "simulate", "sweep", "fit"),
        "Frames": ("decrypt", "ciphers"),
        "Network": ("link",),
        "Hardware": ("rtl",),
    }

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in ("simulate", "model"):
            from airtoll.cli import scenario

            command = scenario.simulate_scenario if name == "simulate" else scenario.model_scenario
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise StoppedError("interrupted") from None
        except BrokenPipeError:
            # The reader closed the pipe, as in `airtoll plan | head`: not an error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_STUDY_HELP: Final = "A study file, or the name of a study that `airtoll studies` lists."
_PUBLISHED_HELP: Final = "A study with published figures: its file, or its name, such as kolahi-11ac."

lab_option = click.option("--lab", metavar="LAB", help="Measure in this lab instead of the study's lab.")
clock_option = click.option(
    "--clock",
    type=click.Choice(get_args(ClockChoice)),
    help="The clock of the lab's hosts: real; virtual, in a guest that no other work on this machine disturbs; or "
    "auto, real if a measurement shows that this machine carries every cell, otherwise virtual for all runs.",
)
inventory_option = click.option(
    "--inventory", type=FILE, metavar="FILE", help="With lab hosts: the machines of the measurement."
)
allow_mixed_option = click.option(
    "--allow-mixed",
    is_flag=True,
    help="With --resume: continue even if the version, commit, CPU or kernel has changed. "
    "Every part records its own.",
)
quick_option = click.option(
    "--quick", is_flag=True, help="Fewer and shorter runs, as in the study's [quick] table."
)


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from airtoll._rust import VERSION

        click.echo(f"airtoll {VERSION}")
        context.exit()


def _complete(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from airtoll.cli import completion

        (completion.install if option.name == "install_completion" else completion.show)(context.command)
        context.exit()


_Callback = Callable[[click.Context, click.Parameter, bool], None]


def _answer(name: str, callback: _Callback, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that the program answers instead of calling a command."""
    return click.option(name, is_flag=True, is_eager=True, expose_value=False, callback=callback, help=text)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 200}
)
@_answer("--version", _print_version, "Print the version.")
@_answer("--install-completion", _complete, "Install completion for the current shell.")
@_answer("--show-completion", _complete, "Print the completion script of the current shell.")
def app() -> None:
    """Measure what securing a wireless LAN costs."""


@app.command()
@click.option(
    "--host", metavar="DESTINATION", help="Examine the Wi-Fi of this destination of ssh(1) instead."
)
@click.option("--inventory", type=FILE, metavar="FILE", help="Examine the Wi-Fi of these machines instead.")
@json_option
def doctor(host: str | None, inventory: Path | None, as_json: bool) -> int:
    """Check what this machine can measure, and list what to install.

    With --host or --inventory: report where the frames of hosts are sealed, and what disturbs a measurement there.
    """
    from airtoll.cli.doctor import examine, examine_hosts

    if host is not None or inventory is not None:
        return examine_hosts(host, inventory, as_json=as_json)
    return examine(as_json=as_json)


@app.group(cls=PanelGroup, invoke_without_command=True)
@json_option
@click.pass_context
def studies(context: click.Context, as_json: bool) -> None:
    """List the studies shipped with airtoll, or print the published figures of a study."""
    if context.invoked_subcommand is None:
        from airtoll.cli.planning import list_studies

        list_studies(as_json=as_json)
    elif as_json:
        raise UsageError(f"--json: must follow {context.invoked_subcommand}")


@studies.command("published")
@click.argument("study", type=click.Path(readable=False), metavar="STUDY", help=_PUBLISHED_HELP)
@click.option("--csv", "as_csv", is_flag=True, help="Print the points as CSV.")
@click.option(
    "--printed", "printed_only", is_flag=True, help="Print only the publication, without simulation."
)
@json_option
def print_publication(study: str, as_csv: bool, printed_only: bool, as_json: bool) -> None:
    """Print the published figures of a study beside their simulation, and the findings of recomputing them.

    The simulation is that of lab sim with the study's settings. "Explained by" names the mechanisms that lead from the
    air alone to the published figure.
    """
    from airtoll.cli.published import print_published

    print_published(study, as_csv=as_csv, as_json=as_json, printed_only=printed_only)


@app.command()
@click.argument("study", type=click.Path(readable=False), metavar="STUDY", help=_PUBLISHED_HELP)
@click.option(
    "--vary",
    metavar="SETTING",
    multiple=True,
    help="A setting to fit: window, write_time, packet_time, forwarding, processor, queue or snr; may be given "
    "repeatedly. A+B varies both only together.",
    show_default="every setting that has an effect",
)
@click.option(
    "--metric",
    "metrics",
    metavar="METRIC",
    multiple=True,
    help="Fit only figures of this metric; may be given repeatedly.",
)
@json_option
def fit(study: str, vary: tuple[str, ...], metrics: tuple[str, ...], as_json: bool) -> None:
    """Fit settings of a study to its published figures, by simulation.

    Prints which setting explains which figures, the settings that explain the figures together, and the errors at
    figures that are held out of the fit.
    """
    from airtoll.cli.fitting import print_fit

    print_fit(study, vary, metrics, as_json=as_json)


@app.command()
@click.argument("study", type=click.Path(readable=False), metavar="STUDY", help=_STUDY_HELP)
@lab_option
@clock_option
@inventory_option
@quick_option
@click.option(
    "--switch-time",
    "switch_time_s",
    type=click.IntRange(min=0, max=86400),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Time of a person per change of the access point's settings, if they are changed by hand.",
)
@json_option
def plan(**options: Any) -> None:
    """Print the runs of a study without performing them."""
    from airtoll.cli.planning import PlanOptions, print_plan

    print_plan(PlanOptions(**options))


@app.command()
@click.argument(
    "study",
    type=click.Path(readable=False),
    metavar="STUDY|DIR",
    help=f"{_STUDY_HELP} With --resume and without --out: the result directory of the interrupted run.",
)
@lab_option
@clock_option
@click.option(
    "--radios",
    metavar="PHY,PHY...",
    callback=lambda _context, _option, text: None if text is None else tuple(text.split(",")),
    help="With lab linux: radios of this machine (iw phy) instead of emulated air, the access point's first.",
)
@inventory_option
@quick_option
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="one per core",
    help="With lab sim or the virtual clock: number of runs side by side. The result does not depend on it.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS|local",
    help="With the virtual clock: run on this Dask cluster, or on a local one; requires airtoll[dask].",
)
@click.option(
    "--out", type=DIRECTORY, metavar="DIR", show_default="results/STUDY-TIME", help="Result directory."
)
@click.option("--resume", is_flag=True, help="Complete the interrupted run in DIR.")
@allow_mixed_option
@click.option(
    "--pcap",
    is_flag=True,
    help="Capture the air in every run (radiotap, LINKTYPE 127). Lab hosts requires an interface in monitor mode.",
)
@json_option
def run(**options: Any) -> None:
    """Perform a study: measure every run, keep the record, print the table and write the report.

    Exit status: 0 if every planned comparison has at least two valid pairs of runs, or one if only one is planned (a
    study of one security level needs one valid run per cell); 1 if a comparison has fewer, or if the study could not
    be completed; 2 if the request is invalid. With status 1 the report is written if the study was completed.
    """
    from airtoll.cli.running import RunOptions, perform

    perform(RunOptions(**options))


@app.command()
def simulate() -> None:
    """Run one cell in virtual time: throughput, delay, jitter, loss and airtime shares."""


@app.command()
def model() -> None:
    """Predict one cell by closed forms: one station, many stations, the cost of security."""


@app.command()
@click.argument("grid", type=FILE, metavar="GRID", help="A grid file.")
@click.option(
    "--out",
    type=FILE,
    metavar="FILE",
    show_default="results/GRID-TIME.parquet",
    help="Output file (Parquet).",
)
@click.option("--resume", is_flag=True, help="Complete an interrupted sweep to --out FILE.")
@allow_mixed_option
@click.option("--csv", "as_csv", is_flag=True, help="Also write the table as CSV, beside FILE.")
@click.option("--json", "as_json", is_flag=True, help="Also write the table as JSON, beside FILE.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="one per core",
    help="Number of cells in parallel.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS|local",
    help="Run on this Dask cluster, or on a local one; requires airtoll[dask].",
)
def sweep(
    grid: Path,
    out: Path | None,
    resume: bool,
    allow_mixed: bool,
    as_csv: bool,
    as_json: bool,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Run a grid of cells in virtual time, on all cores or on a Dask cluster, and write one table."""
    from airtoll.cli.sweeping import perform_sweep

    formats = [name for name, wanted in (("csv", as_csv), ("json", as_json)) if wanted]
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
@result_argument
@json_option
def verify(directory: Path, as_json: bool) -> int:
    """Check a result directory: checksums, completeness, schema."""
    from airtoll.cli.results import verify_result

    return verify_result(directory, as_json=as_json)


@app.command()
@click.argument(
    "directories", type=DIRECTORY, metavar="DIR...", nargs=-1, required=True, help="Result directories."
)
@click.option(
    "--out",
    type=DIRECTORY,
    metavar="DIR",
    show_default="the result directory",
    help="Directory of the report; for several results, directory of the index page.",
)
@click.option(
    "--paper",
    is_flag=True,
    help="Also write a LaTeX table per main metric, and the figures of these metrics as PDF, into DIR/paper.",
)
@click.option(
    "--figures",
    type=DIRECTORY,
    metavar="DIR",
    help="Also write each figure as SVG and PDF into DIR, as wide as a column of a paper (3.5 in).",
)
@click.option(
    "--font",
    metavar="NAME",
    show_default="Liberation Sans",
    help="With --figures or --paper: an installed font for the text of figures, such as that of the paper.",
)
@click.option(
    "--pages",
    type=DIRECTORY,
    metavar="DIR",
    help="Also write one Markdown page per published paper into DIR: its claims and values beside those of the "
    "results.",
)
@json_option
def report(
    directories: tuple[Path, ...],
    out: Path | None,
    paper: bool,
    figures: Path | None,
    font: str | None,
    pages: Path | None,
    as_json: bool,
) -> None:
    """Write the report of a result as HTML, Markdown and CSV; for several results, also an index page."""
    from airtoll.cli.results import report_results

    report_results(directories, out, paper=paper, figures=figures, font=font, pages=pages, as_json=as_json)


@app.command()
@click.argument("capture", type=FILE, metavar="CAPTURE", help="A capture of 802.11 frames: pcap or pcapng.")
@click.option(
    "--key",
    "keys",
    metavar="HEX",
    multiple=True,
    help="A WEP key, 5 or 13 octets in hexadecimal digits, with or without colons; may be given repeatedly.",
)
@click.option(
    "--psk",
    metavar="PASSPHRASE",
    help="The passphrase of the network, or its PSK as 64 hexadecimal digits. Other users can see it in the "
    "list of processes; --psk-file avoids that.",
)
@click.option(
    "--psk-file", type=FILE, metavar="FILE", help="A file with the passphrase or PSK as its only line."
)
@click.option(
    "--ssid",
    metavar="SSID",
    show_default="every network whose SSID is in CAPTURE",
    help="The network of the passphrase; \\xHH is an octet, \\\\ a backslash.",
)
@click.option(
    "--pmk",
    "pmks",
    metavar="HEX",
    multiple=True,
    help="A pairwise master key, for example from SAE, OWE or 802.1X; may be given repeatedly.",
)
@click.option(
    "--out",
    type=FILE,
    metavar="FILE",
    show_default="NAME-dec.pcap beside CAPTURE",
    help="Output file (pcap).",
)
@json_option
def decrypt(
    capture: Path,
    keys: tuple[str, ...],
    psk: str | None,
    psk_file: Path | None,
    ssid: str | None,
    pmks: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Decrypt a capture: write its Ethernet frames to a pcap file and print the number of frames per outcome.

    WEP frames are decrypted with --key. For TKIP, CCMP and GCMP the 4-way handshake of each station must be in the
    capture, before its frames.

    Exit status: 0 if frames were decrypted; 1 if no frame was decrypted (no output is written); 2 if a file or a key
    is invalid, or if the capture is truncated (the frames before that point are decrypted).
    """
    from airtoll.cli.decrypt import decrypt_file, read_secrets

    secrets = read_secrets(keys, psk, psk_file, ssid, pmks)
    decrypt_file(capture, secrets, out, as_json=as_json)


@app.command()
@click.option(
    "--suite",
    "suites",
    metavar="SUITE",
    multiple=True,
    show_default="all",
    help="Measure this cipher suite, spelled as in studies, or paper-lanes: the lanes of Hayajneh et al. as printed, "
    "which are broken; may be given repeatedly.",
)
@click.option(
    "--size",
    "sizes",
    metavar="BYTES|imix",
    multiple=True,
    show_default="ten sizes",
    help="Measure payloads of this size; may be given repeatedly.",
)
@click.option(
    "--backend",
    metavar="BACKEND",
    show_default="the fastest",
    help="Backend of the engine: portable, aesni, vaes256 or vaes512.",
)
@json_option
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the tables as Markdown.")
@click.option(
    "--figure", type=DIRECTORY, metavar="FILE", help="Also plot speed over size: .svg, .png or .html."
)
@click.option(
    "--card",
    type=FILE,
    metavar="FILE",
    help="Measure nothing; print the settings of a card that seals frames at the speed in FILE, which --json printed "
    "on a device. The suite is ccmp unless --suite names another one.",
)
def ciphers(
    suites: tuple[str, ...],
    sizes: tuple[str, ...],
    backend: str | None,
    as_json: bool,
    as_markdown: bool,
    figure: Path | None,
    card: Path | None,
) -> None:
    """Measure how fast this machine protects frames, compared with OpenSSL and libipsec-mb (half a minute)."""
    from airtoll.cli.ciphers import benchmark, print_card

    if card is not None:
        if len(suites) > 1 or sizes or backend or as_json or as_markdown or figure:
            raise UsageError("--card: only --suite may be given with it, once")
        print_card(card, suites)
        return
    benchmark(suites, sizes, backend, as_json=as_json, as_markdown=as_markdown, figure=figure)


for _command in (lab, hosts, compare, gate, import_, metrics, link, rtl):
    app.add_command(_command)


def main() -> None:
    """Entry point: every failure ends with one line on stderr and an exit status."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A file name may be invalid UTF-8; its bytes are printed unchanged. Other encodings lack characters of tables.
        is_utf8 = sys.stdout.encoding.lower() in ("utf-8", "utf8")
        codecs.register_error("similar", _similar)
        sys.stdout.reconfigure(errors="surrogateescape" if is_utf8 else "similar")
    # SIGTERM ends a command as Ctrl-C does: finished runs are kept, temporary files are removed, and one line says so.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # Not standalone: click would print its errors in its own form and exit.
        status = app(standalone_mode=False, prog_name="airtoll")
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "airtoll"
        message = re.sub(r"\. \(?Did you mean (.*)\?\)?$", r" (did you mean \1?)", error.format_message())
        _fail(f"{message.removesuffix('.')}; see {command} --help", error.exit_code)
    except AirtollError as error:
        _fail(str(error), error.exit_code)
    except click.Abort:
        _fail("interrupted", StoppedError.exit_code)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error), 1)
    else:
        raise SystemExit(status)


_SIMILAR: Final = {
    **dict.fromkeys("\N{MINUS SIGN}\N{EN DASH}\N{EM DASH}", "-"),
    **dict.fromkeys("\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}", "u"),
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{MULTIPLICATION SIGN}": "x",
    **dict.fromkeys("\N{MIDDLE DOT}\N{DOT OPERATOR}", "*"),
    "\N{INFINITY}": "inf",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{RIGHTWARDS ARROW}": "->",
}
"""Spellings in ASCII of the characters of tables, for terminals without UTF-8."""


def _similar(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the terminal's encoding lacks, as an error handler of `codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    import unicodedata

    def spelt(character: str) -> str:
        plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
        return _SIMILAR.get(character) or plain or "?"

    return "".join(map(spelt, error.object[error.start : error.end])), error.end


def _fail(message: str, status: int) -> None:
    if os.environ.get("AIRTOLL_TRACEBACK"):
        import traceback

        traceback.print_exc()
    for line in harmless(message).splitlines():
        click.echo(f"airtoll: {line}", err=True)
    raise SystemExit(status) from None
