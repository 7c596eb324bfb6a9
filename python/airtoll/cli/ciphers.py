"""`airtoll ciphers`: measures how fast this machine protects frames; prints tables or JSON, draws a figure."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from airtoll import extras
from airtoll.ciphers import speed
from airtoll.ciphers.parts import PAPER_LANES, STANDARD, printed_lanes
from airtoll.ciphers.peers import Peers, program
from airtoll.ciphers.speed import BenchmarkHost, ProtectionMode, SpeedMeasurement, Speeds
from airtoll.cli.base import echo
from airtoll.cli.json_output import only_one, print_json
from airtoll.cli.tables import plain_console
from airtoll.documents import read_json
from airtoll.errors import StoppedError, UsageError

_WIDTH = 120  # of a table; without a terminal, rich would use 80
_WORDS = ("suite", "by")  # columns of words
_NAMES = {"airtoll": "airtoll", "openssl": "OpenSSL", "ipsec-mb": "ipsec-mb"}
_ONE_SIZE_B = 1500
_FEW_SIZES = 2  # with more sizes, every mode except the usual one is shown at one size
_UNRESOLVED = "~"
_NONE = "\N{EN DASH}"


def print_card(file: Path, suites: Sequence[str]) -> None:
    """Print the settings of [link] of a card with the speeds in the file, which --json printed."""
    (suite,) = suites or ("ccmp",)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    speeds = read_json(TypeAdapter(Speeds), content, str(file))
    try:
        frame_us, byte_ns = speed.card_times(speeds, suite)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None
    echo(f'[link]\nprocessor_frame = "{frame_us:.4g} us"\nprocessor_byte = "{byte_ns:.4g} ns"')


def benchmark(
    suites: Sequence[str],
    sizes: Sequence[str],
    backend: str | None,
    *,
    as_json: bool,
    as_markdown: bool,
    figure: Path | None,
) -> None:
    """Measure and print; on Ctrl-C, print the measurements up to that point."""
    only_one(json=as_json, markdown=as_markdown)
    if figure is not None and figure.suffix not in speed.FIGURES:
        raise UsageError(
            f"--figure: '{figure}' must end in {', '.join(speed.FIGURES[:-1])} or {speed.FIGURES[-1]}"
        )
    if figure is not None and not figure.absolute().parent.is_dir():
        raise UsageError(f"--figure: directory {figure.absolute().parent} does not exist")
    if figure is not None and not os.access(figure.absolute().parent, os.W_OK):
        raise UsageError(f"--figure: directory {figure.absolute().parent} is not writable")
    if figure is not None:
        extras.require("figures", "--figure")  # before the measurement, which takes minutes
    chosen = speed.choose_sizes(sizes)
    others = [suite for suite in suites if suite != PAPER_LANES]
    lanes = speed.plan_lanes(chosen) if len(others) < len(suites) else []
    if lanes and not others and figure is not None:
        raise UsageError(f"--figure: {PAPER_LANES} has no figure; name a cipher suite too")
    cases = speed.plan(speed.choose_suites(others), chosen) if others or not suites else []
    chosen_backend = speed.choose_backend(backend)
    with Peers(program()) as peers:
        speeds = _measure(peers, cases, lanes, chosen_backend)
    if as_json:
        print_json(speeds.model_dump(mode="json"))
    elif as_markdown:
        print(_markdown(speeds))
    else:
        _print(speeds)
    if not speeds.complete:
        done = len({(m.suite, m.size_b, m.way) for m in speeds.measurements}) + len(speeds.lanes)
        total = len(cases) + len(lanes)
        raise StoppedError(f"interrupted; the output is partial: {done} of {total} cases")
    if figure is not None:
        from airtoll.ciphers.figure import write_figure

        write_figure(speeds, figure)
        if not as_json and not as_markdown:
            print(f"figure: {figure}")


def _measure(
    peers: Peers,
    cases: Sequence[speed.BenchmarkCase],
    lanes: Sequence[tuple[speed.LaneScheme, int, int]],
    backend: str,
) -> Speeds:
    host = speed.look(peers, backend)
    measurements: list[SpeedMeasurement] = []
    times: list[speed.LaneTimes] = []
    console = plain_console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    complete = True
    with progress:
        task = progress.add_task("comparing and measuring", total=len(cases) + len(lanes))
        try:
            for case, measured in speed.measure(peers, cases, backend):
                measurements.extend(measured)
                progress.update(task, advance=1, description=f"{case.suite:<10} {_size(case.size_b):>6}")
            for scheme, number, size_b in lanes:
                times.append(speed.measure_lanes(peers, scheme, number, size_b, backend))
                progress.update(task, advance=1, description=f"{scheme}{number:<2} {_size(size_b):>6}")
        except KeyboardInterrupt:
            complete = False
    return Speeds(
        host=host,
        complete=complete,
        measurements=tuple(measurements),
        lanes=tuple(times),
    )


@dataclass(frozen=True)
class _Sheet:
    """A table before it is printed: one mode of protecting frames."""

    title: str
    columns: tuple[tuple[str, str], ...]  # implementation, quantity
    rows: list[tuple[str, ...]]  # an empty first cell means the suite of the row above


def _sheets(speeds: Speeds) -> Iterator[_Sheet]:
    """The usual mode at all sizes, then the other modes, at one size if there are many sizes."""
    sizes = list(dict.fromkeys(m.size_b for m in speeds.measurements))
    if len(sizes) <= _FEW_SIZES:
        shown = sizes
    else:
        fixed = [size for size in sizes if size is not None]
        shown = [_ONE_SIZE_B if _ONE_SIZE_B in fixed else max(fixed)]
    for way in speed.WAYS:
        chosen = [
            m for m in speeds.measurements if m.way == way and (way == speed.USUAL or m.size_b in shown)
        ]
        if chosen:
            yield _sheet(way, chosen)
    if speeds.lanes:
        yield from _lane_sheets(speeds.lanes)


def _lane_sheets(times: Sequence[speed.LaneTimes]) -> Iterator[_Sheet]:
    """Tables I and II of Hayajneh et al.: the lanes as printed, beside those of `enhanced`."""
    columns = [("payload", "B"), ("", "lanes")]
    for scheme in ("paper-lanes, BROKEN", "enhanced"):
        columns += [(scheme, "us"), ("", "speed-up")]
    found = {(one.scheme, one.size_b, one.lanes): one for one in times}
    for title, part in (("MIC: CBC-MAC (Table I)", "mic_us"), ("CTR (Table II)", "ctr_us")):
        rows, before = [], None
        for size_b, lanes in dict.fromkeys((one.size_b, one.lanes) for one in times):
            row = [str(size_b) if size_b != before else "", "1, standard" if lanes == 1 else str(lanes)]
            for scheme in speed.LANE_SCHEMES:
                one, standard = (
                    getattr(found.get((scheme, size_b, number)), part, None) for number in (lanes, 1)
                )
                row += [_number(one), f"{standard / one:.2f}x" if one and standard else _NONE]
            rows.append(tuple(row))
            before = size_b
        yield _Sheet(f"{title}, one frame at a time", tuple(columns), rows)


def _sheet(way: ProtectionMode, measurements: Sequence[SpeedMeasurement]) -> _Sheet:
    by_case: dict[tuple[str, int | None], dict[str, SpeedMeasurement]] = {}
    for m in measurements:
        by_case.setdefault((m.suite, m.size_b), {})[m.implementation] = m
    # Lanes exist for single frames: this table also compares the enhanced suites with the engine's own CCMP.
    beside_ccmp = way.batch == 1 and any(suite == STANDARD for suite, _ in by_case)
    columns = [
        ("", "suite"),
        ("payload", "B"),
        ("airtoll", "Gbit/s"),
        ("", "\N{PLUS-MINUS SIGN}%"),
        ("", "c/B"),
        ("limit", "c/B"),
        ("% of", "limit"),
        ("bound", "by"),
        ("OpenSSL", "Gbit/s"),
        ("", "\N{PLUS-MINUS SIGN}%"),
        ("", "c/B"),
        ("", "ratio"),
        ("ipsec-mb", "Gbit/s"),
        ("", "\N{PLUS-MINUS SIGN}%"),
        ("", "c/B"),
        ("", "ratio"),
        ("", "by"),
    ]
    if beside_ccmp:
        columns.append(("own", STANDARD))
    rows, before = [], None
    for (suite, size_b), found in by_case.items():
        ours, openssl, ipsec_mb = (found.get(name) for name in speed.IMPLEMENTATIONS)
        row = [
            suite if suite != before else "",
            _size(size_b).removesuffix(" B"),
            *_rate(ours),
            _number(ours.limit_cycles_per_byte if ours else None),
            _percent(ours.share_of_limit if ours else None),
            (ours and ours.bound_by) or _NONE,
            *_rate(openssl),
            _beside(openssl),
            *_rate(ipsec_mb),
            _beside(ipsec_mb),
            (ipsec_mb and ipsec_mb.interface) or "",
        ]
        if beside_ccmp:
            standard = by_case.get((STANDARD, size_b), {}).get("airtoll")
            row.append(_ratio(ours, standard) if printed_lanes(suite) is not None else "")
        rows.append(tuple(row))
        before = suite
    return _Sheet(_title(way), tuple(columns), rows)


def _title(way: ProtectionMode) -> str:
    doing = "Sealing" if way.operation == "seal" else "Opening"
    if way.batch == 1:
        return f"{doing} one frame at a time"
    return f"{doing} {way.batch} frames at a time, {'one key' if way.keys == 1 else 'one key per frame'}"


def _size(size_b: int | None) -> str:
    return speed.IMIX if size_b is None else f"{size_b} B"


def _rate(m: SpeedMeasurement | None) -> tuple[str, str, str]:
    if m is None:
        return _NONE, _NONE, _NONE
    return _number(m.gbit_per_s), f"{100 * m.spread:.1f}", _number(m.cycles_per_byte)


def _beside(library: SpeedMeasurement | None) -> str:
    """The speed of airtoll divided by that of a library, with a mark if their order is not resolved."""
    if library is None or library.airtoll_ratio is None:
        return _NONE
    return f"{library.airtoll_ratio:.2f}x{'' if library.airtoll_ratio_resolved else _UNRESOLVED}"


def _number(value: float | None) -> str:
    """A value with about three significant digits."""
    if value is None:
        return _NONE
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0}f}"


def _ratio(ours: SpeedMeasurement | None, other: SpeedMeasurement | None) -> str:
    """The speed of airtoll divided by the speed of the other implementation."""
    if ours is None or other is None:
        return _NONE
    return f"{ours.gbit_per_s / other.gbit_per_s:.2f}x"


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{100 * share:.0f}"


def _print(speeds: Speeds) -> None:
    console = plain_console()
    console = plain_console(width=max(console.width, _WIDTH))
    for line in _facts(speeds.host):
        console.print(line)
    for sheet in _sheets(speeds):
        console.print()
        console.print(sheet.title, style="bold")
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for whose, what in sheet.columns:
            justify: Literal["left", "right"] = "left" if what in _WORDS else "right"
            table.add_column(f"{whose}\n{what}", justify=justify, no_wrap=True)
        many = sum(bool(row[0]) for row in sheet.rows) < len(sheet.rows)
        for number, row in enumerate(sheet.rows):
            if number and row[0] and many:
                table.add_row()
            table.add_row(*row)
        console.print(table)
    if speeds.measurements or speeds.lanes:
        console.print()
        for note in _notes(speeds):
            console.print(note)


def _facts(host: BenchmarkHost) -> Iterator[str]:
    clock = "" if host.ghz is None else f" at {host.ghz:.2f} GHz"
    yield f"CPU       {host.cpu_model or host.architecture}{clock}, one core"
    yield f"airtoll   {host.airtoll_version}, backend {host.backend}"
    for name, library in host.libraries.items():
        yield f"{_NAMES[name]:<10}{library.version or f'left out: {library.absent}'}"
    if host.cycles_per_aes128_block is not None and host.cycles_per_aes128_block_in_a_chain is not None:
        yield (
            f"AES-128   {host.cycles_per_aes128_block:.2f} cycles per block at best, "
            f"{host.cycles_per_aes128_block_in_a_chain:.1f} if each block waits for the previous one"
        )


def _notes(speeds: Speeds) -> Iterator[str]:
    if speeds.lanes:
        yield "paper-lanes: the lanes of Hayajneh et al. as printed. BROKEN: an attacker can forge their frames, so"
        yield "no link uses them. enhanced: the repaired lanes. Times are medians per frame; speed-up: relative to"
        yield "one lane of the same scheme."
    if not speeds.measurements:
        return
    yield "Gbit/s of payload; c/B: core cycles per byte of payload; both are medians. ±%: half of the range"
    yield "between the quartiles, as a share of the median. Ratio: airtoll's speed over the library's."
    yield f"{_UNRESOLVED}: the ranges between the quartiles overlap, so the order is not resolved."
    yield "airtoll protects complete MPDUs; the libraries run the bare cipher (for WEP: RC4 without CRC-32)."
    yield "The limit counts the AES rounds and, for GCMP, the multiplications that the standard requires, at"
    yield "this CPU's measured rates. Bound by: the unit that sets the limit (both: AES and GHASH), the chain"
    yield f"of CBC-MAC, or {speed.OTHER_WORK} work, if less than half of the time is at the limit."
    sizes = {m.size_b for m in speeds.measurements}
    if len(sizes) > _FEW_SIZES:
        yield "For other sizes of the other modes, use --json or --size."


def _markdown(speeds: Speeds) -> str:
    """The first section of docs/measurements/ciphers.md."""
    lines = ["## On this machine", "", "Output of `airtoll ciphers --markdown`.", ""]
    lines += [f"    {line}" for line in _facts(speeds.host)]
    for sheet in _sheets(speeds):
        headings = _headings(sheet.columns)
        lines += ["", f"### {sheet.title}", "", _cells(headings)]
        lines.append(_cells("---" if what in _WORDS else "---:" for _, what in sheet.columns))
        suite = ""
        for row in sheet.rows:
            suite = row[0] or suite
            lines.append(_cells((suite, *row[1:])))
    return "\n".join([*lines, "", *_notes(speeds)])


def _headings(columns: Sequence[tuple[str, str]]) -> list[str]:
    """One-line headings: each quantity with its implementation, as in "OpenSSL c/B"."""
    headings, whose = [], ""
    for above, what in columns:
        whose = above or whose
        headings.append(f"{whose} {what}".strip())
    return headings


def _cells(cells: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
