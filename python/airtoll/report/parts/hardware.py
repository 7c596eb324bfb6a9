"""Tables III, IV and V of Hayajneh et al. for our hardware, and a comparison of our designs (`airtoll rtl report`)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from airtoll.published import Publication, published
from airtoll.published.publication import ComparisonClaim
from airtoll.report.material import text
from airtoll.report.material.grid import Grid
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


def shipped_grids() -> list[Grid]:
    """All tables of the results shipped with airtoll."""
    return grids(load(default_file()))


def _resources(every: Sequence[DesignFigures], printed: _Printed) -> Grid:
    rows = [
        ("Published: standard", _PRINTED_PART, *[text.MISSING] * 5, "1"),
        ("Published: parallel", _PRINTED_PART, *[text.MISSING] * 5, printed.elements),
    ]
    rows += [
        (
            one.title,
            _PART[one.target],
            str(one.logic_elements),
            str(one.lut),
            str(one.carry_lut),
            str(one.ff),
            str(one.ram_blocks),
            text.number(one.logic_element_ratio, 2),
        )
        for one in every
    ]
    return Grid(
        "rtl-resources",
        "Resource utilization (Table III)",
        f"{_WHAT} A logic element is a LUT of four inputs, a register, or a LUT with the only register that it drives. "
        "LUT4 includes the LUTs of carry chains. The ratio is relative to the standard design of the same kind on the "
        "same part. Published: the text prints only the ratio, without the number of lanes."
        + _absent((_SYNTH, [one.logic_element_ratio for one in every])),
        ("Design", "Part", "LE", "LUT4", "of carry", "FF", "RAM blocks", "LE ratio"),
        tuple(rows),
        words=2,
    )


def _timing(results: Results, every: Sequence[DesignFigures], printed: _Printed) -> Grid:
    rows: list[tuple[str, ...]] = [
        (f"Published: {name}", _PRINTED_PART, *[text.MISSING] * 7, f"{total_ns:.0f}")
        for name, total_ns in (("standard", printed.standard_ns), ("parallel", printed.parallel_ns))
    ]
    timed = [one for one in every if one.target != "cycloneive"]
    rows += [
        (
            one.title,
            _PART[one.target],
            text.number(one.fmax_mhz, 1),
            text.number(one.tsu_ns, 2),
            text.number(one.tco_ns, 2),
            text.number(one.clk_to_clk_ns, 2),
            text.number(one.cycles_a_frame, 0),
            text.number(one.single_block_ns, 0),
            text.number(one.single_frame_ns, 0),
            text.MISSING,
        )
        for one in timed
    ]
    return Grid(
        "rtl-timing",
        "Timing analysis in nanoseconds (Table IV)",
        "After placement and routing, medians over the seeds: the slowest paths from an input to a register (Tsu, "
        "including wire and setup), from a register to an output (Tco, including the wire) and from register to "
        f"register (Clk-Clk). {_WHAT} Cycles are per {PAYLOAD_B} B frame in a continuous stream. The total time is "
        "that of a single frame or message in an idle design, from its first word in to its last word out, by "
        "simulation."
        + _what_frame(results, timed, printed)
        + _absent((_SYNTH, [value for one in timed for value in (one.fmax_mhz, one.cycles_a_frame)])),
        (
            "Design",
            "Part",
            "Fmax, MHz",
            "Tsu",
            "Tco",
            "Clk-Clk",
            "Cycles per frame",
            "Total, 16 B",
            f"Total, {PAYLOAD_B} B",
            "Total, as printed",
        ),
        tuple(rows),
        words=2,
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
    rows: list[tuple[str, ...]] = [
        ("Published: standard", _PRINTED_PART, *[text.MISSING] * 3, "1", "1", *[text.MISSING] * 2),
        ("Published: parallel", _PRINTED_PART, *[text.MISSING] * 3, "> 1", "< 1", *[text.MISSING] * 2),
    ]
    rows += [
        (
            one.title,
            _PART[one.target],
            text.number(one.lut_toggles, 0),
            text.number(one.ff_toggles, 0),
            text.number(one.clock_toggles, 0),
            text.number(one.power_ratio, 2),
            text.number(one.energy_ratio, 2),
            text.number(one.signal_energy_ratio, 2),
            text.number(one.pj_per_payload_bit, 1),
        )
        for one in estimated
    ]
    return Grid(
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
        (
            "Design",
            "Part",
            "Combinational",
            "Register",
            "Clock",
            "Power ratio",
            "Energy ratio",
            "Energy ratio without clock",
            "pJ per bit",
        ),
        tuple(rows),
        words=2,
    )


def _designs(every: Sequence[DesignFigures], target: TargetName) -> Grid:
    here = [one for one in every if one.target == target]
    rows = tuple(
        (
            one.title,
            str(one.lut),
            str(one.ff),
            str(one.ram_blocks),
            text.number(one.fmax_mhz, 1),
            str(one.seeds) if one.seeds else text.MISSING,
            text.number(one.gbit_per_s, 2),
            text.number(one.speed_up, 2),
            text.number(one.lut_ratio, 2),
            text.number(one.mbit_per_s_per_lut, 3),
            text.number(one.energy_ratio, 2),
            text.number(one.signal_energy_ratio, 2),
        )
        for one in here
    )
    return Grid(
        f"{OF_OUR_DESIGNS}{target}",
        f"Our designs on {_PART[target]}",
        "The complete core after placement and routing, at the median clock rate over the seeds. Gbit/s of payload, in "
        f"a continuous stream of {PAYLOAD_B} B frames, the slower of sealing and opening. Speed-up, LUT ratio and "
        "energy (an estimate, as in Table V) are relative to our standard design."
        + _absent(
            (_SYNTH, [v for one in here for v in (one.gbit_per_s, one.speed_up)]),
            (_POWER, [one.energy_ratio for one in here]),
        ),
        (
            "Design",
            "LUT4",
            "FF",
            "RAM blocks",
            "Fmax, MHz",
            "Seeds",
            "Gbit/s",
            "Speed-up",
            "LUT ratio",
            "Mbit/s per LUT",
            "Energy per bit",
            "without clock",
        ),
        rows,
    )


def _ratios(every: Sequence[DesignFigures], printed: _Printed) -> Grid:
    """The two ratios that the paper prints, for every number of lanes."""
    paper_designs = [one for one in every if one.group == "paper" or (one.group in ALONE and one.lanes != 1)]
    rows: list[tuple[str, ...]] = [("Published", _PRINTED_PART, printed.speed_up, printed.elements)]
    rows += [
        (
            f"{_KIND[one.group]}: {text.counted(one.lanes or 0, 'lane')}",
            _PART[one.target],
            text.number(one.total_ratio, 2),
            text.number(one.logic_element_ratio, 2),
        )
        for one in sorted(paper_designs, key=_kind_part_and_lanes)
    ]
    return Grid(
        "rtl-ratios",
        "The paper's comparison: its lanes and the standard design",
        f"{_WHAT} Time ratio, as in the text: total time of the standard design of the same kind for a single frame or "
        f"message of {PAYLOAD_B} B, divided by the total time of the lanes, each at its clock rate after routing. For "
        "Cyclone IV E only the logic is counted. LE ratio: logic elements. The text states neither the message nor the "
        "number of lanes of its parallel design."
        + (f" Not measured yet: {_SYNTH}." if not paper_designs else "")
        + _absent((_SYNTH, [one.total_ratio for one in paper_designs if one.target != "cycloneive"])),
        ("Design", "Part", "Time ratio", "LE ratio"),
        tuple(rows),
        words=2,
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
