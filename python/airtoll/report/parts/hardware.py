"""Tables III, IV and V of Hayajneh et al. for our hardware, and a comparison of our designs (`airtoll rtl report`)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from airtoll.published import Publication, published
from airtoll.published.publication import ComparisonClaim
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Part, Section, of_grids
from airtoll.report.parts.hardware_claims import claims_grid
from airtoll.rtl import ALONE, PAYLOAD_B, DesignFigures, Results, all_figures, default_file, load, payload_of
from airtoll.rtl.results import Group, TargetName

PAPER: Final = "hayajneh-enhanced"

_PART: Final[dict[TargetName, str]] = {
    "ecp5": "ECP5-85F",
    "gw2a18": "GW2A-18",
    "ice40": "iCE40 HX8K",
    "cycloneive": "Cyclone IV E",
}
_KIND: Final[dict[Group, str]] = {"cbc": "CBC", "ctr": "CTR", "paper": "complete core"}
_PRINTED_PART: Final = "Cyclone II"
_Text = Callable[[DesignFigures], str]
_DESIGN: Final[Mapping[str, _Text]] = {"Design": lambda one: one.title, "Part": lambda one: _PART[one.target]}
_WHAT: Final = (
    "CBC and CTR are the paper's designs (Figs. 8 and 9): AES cores and their chains or counters. All other designs "
    "are complete cores with framing, keys and memories."
)
_SYNTH: Final = "make -C rtl synth"
_POWER: Final = "make -C rtl power"


@dataclass(frozen=True)
class _Printed:
    """The paper's figures of its two designs, from its text; its tables are not available."""

    standard_ns: float
    parallel_ns: float
    speed_up: str
    elements: str

    @classmethod
    def of(cls, paper: Publication) -> "_Printed":
        return cls(
            float(paper.point("hardware-standard").standard_value),
            float(paper.point("hardware-parallel").standard_value),
            _ratio_of(paper, "hardware-speed-up"),
            _ratio_of(paper, "elements-ratio"),
        )


OF_OUR_DESIGNS: Final = "rtl-designs-"
"""The names of the tables of our designs begin with this text; a part follows."""


def grids(results: Results) -> list[Grid]:
    """All tables. A missing measurement is a dash, and the note names the command that measures it."""
    every, printed = all_figures(results), _Printed.of(published(PAPER))
    cores = [one for one in every if one.group not in ALONE]
    return [
        claims_grid(every, published(PAPER)),
        _resources(every, printed),
        _timing(results, every, printed),
        _power(every),
        *(_designs(cores, target) for target in _PART if _placed(cores, target)),
        _ratios(every, printed),
    ]


def _sections(data: ReportData) -> Iterator[Section]:
    """All tables of the results shipped with airtoll, in the report of the paper's study."""
    if data.publication == published(PAPER):
        yield from of_grids("published", grids(load(default_file())))


SECTIONS: Final = (Part(62, _sections),)


def _resources(every: Sequence[DesignFigures], printed: _Printed) -> Grid:
    return Grid.of(
        "rtl-resources",
        "Resource utilization (Table III)",
        f"{_WHAT} A logic element is a LUT of four inputs, a register, or a LUT with the only register that it drives. "
        "LUT4 includes the LUTs of carry chains. The ratio is relative to the standard design of the same kind on the "
        "same part. Published: the text prints only the ratio, without the number of lanes."
        + _absent((_SYNTH, [one.logic_element_ratio for one in every])),
        every,
        {
            **_DESIGN,
            "LE": lambda one: str(one.logic_elements),
            "LUT4": lambda one: str(one.lut),
            "of carry": lambda one: str(one.carry_lut),
            "FF": lambda one: str(one.ff),
            "RAM blocks": lambda one: str(one.ram_blocks),
            "LE ratio": _number("logic_element_ratio", 2),
        },
        words=2,
        first=[_of_paper(5, "standard", "1"), _of_paper(5, "parallel", printed.elements)],
    )


def _number(figure: str, decimals: int) -> _Text:
    """A column of a figure."""
    return lambda one: text.number(getattr(one, figure), decimals)


def _of_paper(missing: int, design: str, *more: str) -> tuple[str, ...]:
    """A row of one of the paper's designs, without the first figures."""
    return (f"Published: {design}", _PRINTED_PART, *[text.MISSING] * missing, *more)


def _timing(results: Results, every: Sequence[DesignFigures], printed: _Printed) -> Grid:
    timed = [one for one in every if one.target != "cycloneive"]
    return Grid.of(
        "rtl-timing",
        "Timing analysis in nanoseconds (Table IV)",
        "After placement and routing, medians over the seeds: the slowest paths from an input to a register (Tsu, "
        "including wire and setup), from a register to an output (Tco, including the wire) and from register to "
        f"register (Clk-Clk). {_WHAT} Cycles are per {PAYLOAD_B} B frame in a continuous stream. The total time is "
        "that of a single frame or message in an idle design, from its first word in to its last word out, by "
        "simulation."
        + _what_frame(results, timed, printed)
        + _absent((_SYNTH, [value for one in timed for value in (one.fmax_mhz, one.cycles_a_frame)])),
        timed,
        {
            **_DESIGN,
            "Fmax, MHz": _number("fmax_mhz", 1),
            "Tsu": _number("tsu_ns", 2),
            "Tco": _number("tco_ns", 2),
            "Clk-Clk": _number("clk_to_clk_ns", 2),
            "Cycles per frame": _number("cycles_a_frame", 0),
            "Total, 16 B": _number("single_block_ns", 0),
            f"Total, {PAYLOAD_B} B": _number("single_frame_ns", 0),
            "Total, as printed": lambda _: text.MISSING,
        },
        words=2,
        first=[
            _of_paper(7, "standard", f"{printed.standard_ns:.0f}"),
            _of_paper(7, "parallel", f"{printed.parallel_ns:.0f}"),
        ],
    )


def _what_frame(results: Results, timed: Iterable[DesignFigures], printed: _Printed) -> str:
    """The sizes at which our standard designs take as long as the paper's."""
    found = []
    for one in timed:
        if one.group == "standard" or (one.group in ALONE and one.lanes == 1):
            size_b = payload_of(results.points[one.point], one.target, printed.standard_ns)
            if size_b is not None:
                found.append(f"{size_b:.0f} B ({one.title} on {_PART[one.target]})")
    if not found:
        return ""
    return (
        " The text prints the total times of one standard and one parallel design, without the message, its size or "
        "the clock. The two times do not determine them. Our standard designs take "
        f"{printed.standard_ns:.0f} ns for {text.listing(found)}."
    )


def _power(every: Sequence[DesignFigures]) -> Grid:
    estimated = [one for one in every if one.toggles_per_payload_bit is not None]
    return Grid.of(
        "rtl-power",
        "Power and energy (Table V)",
        "An estimate: toggles of all signals per bit of payload, in a simulation of the mapped gates, including "
        "glitches and weighted by fan-out. Clock: toggles of the clock at every register, whether or not the register "
        "changes. Energy is proportional to the sum of the toggles, power to that sum at the rate of the design; both "
        "are relative to the standard design. The energy of a clock depends on the clock network of the part, so the "
        "energy without the clock is given too. Joules are converted from toggles, not measured. Published: the text "
        "says that the parallel design takes more power and less energy (V-B, paragraph 7)."
        + ("" if estimated else f" Not estimated yet: {_POWER}.")
        + (_absent((_SYNTH, [one.power_ratio for one in estimated])) if estimated else ""),
        estimated,
        {
            **_DESIGN,
            "Combinational": _number("lut_toggles", 0),
            "Register": _number("ff_toggles", 0),
            "Clock": _number("clock_toggles", 0),
            "Power ratio": _number("power_ratio", 2),
            "Energy ratio": _number("energy_ratio", 2),
            "Energy ratio without clock": _number("signal_energy_ratio", 2),
            "pJ per bit": _number("pj_per_payload_bit", 1),
        },
        words=2,
        first=[
            _of_paper(3, "standard", "1", "1", *[text.MISSING] * 2),
            _of_paper(3, "parallel", "> 1", "< 1", *[text.MISSING] * 2),
        ],
    )


def _designs(every: Sequence[DesignFigures], target: TargetName) -> Grid:
    here = [one for one in every if one.target == target]
    return Grid.of(
        f"{OF_OUR_DESIGNS}{target}",
        f"Our designs on {_PART[target]}",
        "The complete core after placement and routing, at the median clock rate over the seeds. Gbit/s of payload, in "
        f"a continuous stream of {PAYLOAD_B} B frames, the slower of sealing and opening. Speed-up, LUT ratio and "
        "energy (an estimate, as in Table V) are relative to our standard design."
        + _absent(
            (_SYNTH, [v for one in here for v in (one.gbit_per_s, one.speed_up)]),
            (_POWER, [one.energy_ratio for one in here]),
        ),
        here,
        {
            "Design": lambda one: one.title,
            "LUT4": lambda one: str(one.lut),
            "FF": lambda one: str(one.ff),
            "RAM blocks": lambda one: str(one.ram_blocks),
            "Fmax, MHz": _number("fmax_mhz", 1),
            "Seeds": lambda one: str(one.seeds) if one.seeds else text.MISSING,
            "Gbit/s": _number("gbit_per_s", 2),
            "Speed-up": _number("speed_up", 2),
            "LUT ratio": _number("lut_ratio", 2),
            "Mbit/s per LUT": _number("mbit_per_s_per_lut", 3),
            "Energy per bit": _number("energy_ratio", 2),
            "without clock": _number("signal_energy_ratio", 2),
        },
    )


def _ratios(every: Sequence[DesignFigures], printed: _Printed) -> Grid:
    """The two ratios that the paper prints, for every number of lanes."""
    paper_designs = [one for one in every if one.group == "paper" or (one.group in ALONE and one.lanes != 1)]
    return Grid.of(
        "rtl-ratios",
        "The paper's comparison: its lanes and the standard design",
        f"{_WHAT} Time ratio, as in the text: total time of the standard design of the same kind for a single frame or "
        f"message of {PAYLOAD_B} B, divided by the total time of the lanes, each at its clock rate after routing. For "
        "Cyclone IV E only the logic is counted. LE ratio: logic elements. The text states neither the message nor the "
        "number of lanes of its parallel design."
        + (f" Not measured yet: {_SYNTH}." if not paper_designs else "")
        + _absent((_SYNTH, [one.total_ratio for one in paper_designs if one.target != "cycloneive"])),
        sorted(paper_designs, key=_kind_part_and_lanes),
        {
            "Design": lambda one: f"{_KIND[one.group]}: {text.counted(one.lanes or 0, 'lane')}",
            "Part": lambda one: _PART[one.target],
            "Time ratio": _number("total_ratio", 2),
            "LE ratio": _number("logic_element_ratio", 2),
        },
        words=2,
        first=[("Published", _PRINTED_PART, printed.speed_up, printed.elements)],
    )


def _kind_part_and_lanes(one: DesignFigures) -> tuple[int, int, int]:
    return list(_KIND).index(one.group), list(_PART).index(one.target), one.lanes or 0


def _placed(every: Iterable[DesignFigures], target: TargetName) -> bool:
    return any(one.seeds for one in every if one.target == target)


def _absent(*values: tuple[str, Iterable[float | None]]) -> str:
    """The commands that measure the missing values."""
    commands = [command for command, measured in values if any(value is None for value in measured)]
    return (
        f" {text.MISSING}: not measured ({text.listing(commands)}), or too large for the part."
        if commands
        else ""
    )


def _ratio_of(paper: Publication, claim: str) -> str:
    found = paper.claim(claim)
    assert isinstance(found, ComparisonClaim)
    return str(found.ratio)
