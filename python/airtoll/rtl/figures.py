"""Figures derived from the measurements: times, rates, and ratios to the standard design on the same target."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final, get_args

from pydantic import BaseModel, ConfigDict

from airtoll.rtl.results import DesignPoint, Group, OneWay, Results, TargetName

PAYLOAD_B: Final = 1500
"""The payload of the frames to which rates refer."""

_COUNTS: Final = ("lut", "carry_lut", "ff", "ram_blocks", "logic_elements")

BLOCK_B: Final = 16
"""A payload of one AES block."""

STANDARD: Final = "standard"
"""The group of the design that the others are compared with, except designs of CBC or CTR alone."""

ALONE: Final = ("cbc", "ctr")
"""The groups of designs of CBC or CTR alone. Each is compared with its own design of one lane."""


class DesignFigures(BaseModel):
    """A design point on a target. A figure is None if a measurement that it requires is missing.

    Rates and times refer to frames of `PAYLOAD_B` and to the slower of sealing and opening; clock rates are medians.
    A design of CBC or CTR alone processes messages of this size in place of frames.
    """

    model_config = ConfigDict(frozen=True)

    point: str
    title: str
    group: Group
    lanes: int | None
    target: TargetName
    lut: int
    carry_lut: int
    ff: int
    ram_blocks: int
    logic_elements: int
    seeds: int
    fmax_mhz: float | None  # median over the seeds
    fmax_least_mhz: float | None
    fmax_most_mhz: float | None
    tsu_ns: float | None
    tco_ns: float | None
    clk_to_clk_ns: float | None
    cycles_a_frame: float | None
    frame_ns: float | None  # time per frame in a continuous stream
    single_block_ns: float | None  # latency of a single frame of BLOCK_B, first word in to last word out
    single_frame_ns: float | None  # latency of a single frame of PAYLOAD_B
    gbit_per_s: float | None
    mbit_per_s_per_lut: float | None
    toggles_per_payload_bit: float | None
    lut_toggles: float | None  # part of toggles_per_payload_bit
    ff_toggles: float | None
    clock_toggles: float | None
    toggles_per_ns: float | None  # proportional to power
    pj_per_payload_bit: float | None
    # Ratios to the standard design
    speed_up: float | None  # of the time per frame in a continuous stream
    total_ratio: float | None  # total time of a single frame: of the standard design, divided by this one's
    lut_ratio: float | None
    logic_element_ratio: float | None
    energy_ratio: float | None
    signal_energy_ratio: float | None  # without clock pins
    power_ratio: float | None


def all_figures(results: Results) -> tuple[DesignFigures, ...]:
    """The figures of every design point on every target that it was mapped to, targets in the order of `TargetName`."""
    found = []
    for name, point in results.points.items():
        standard = _standard(results, point)
        for target in sorted(point.targets, key=get_args(TargetName).index):
            base = _measured(standard, target) if standard else {}
            mine = _measured(point, target)
            found.append(
                DesignFigures.model_validate(
                    {
                        "point": name,
                        "title": point.title,
                        "group": point.group,
                        "lanes": point.lanes,
                        "target": target,
                        **mine,
                        "speed_up": _ratio(base.get("frame_ns"), mine["frame_ns"]),
                        "total_ratio": _ratio(base.get("single_frame_ns"), mine["single_frame_ns"]),
                        "lut_ratio": _ratio(mine["lut"], base.get("lut")),
                        "logic_element_ratio": _ratio(mine["logic_elements"], base.get("logic_elements")),
                        "energy_ratio": _ratio(
                            mine["toggles_per_payload_bit"], base.get("toggles_per_payload_bit")
                        ),
                        "signal_energy_ratio": _ratio(_signals(mine), _signals(base)),
                        "power_ratio": _ratio(mine["toggles_per_ns"], base.get("toggles_per_ns")),
                    }
                )
            )
    return tuple(found)


def _standard(results: Results, point: DesignPoint) -> DesignPoint | None:
    """The design that a design is compared with."""
    wanted = (point.group, 1) if point.group in ALONE else (STANDARD, None)
    return next((each for each in results.points.values() if (each.group, each.lanes) == wanted), None)


def payload_of(point: DesignPoint, target: TargetName, single_ns: float) -> float | None:
    """The payload in octets of a single frame or message that takes `single_ns` to seal, MAC or encrypt.

    None outside the range of measured sizes.
    """
    fmax_mhz = point.targets[target].fmax_mhz if target in point.targets else None
    if fmax_mhz is None or point.cycles is None:
        return None
    cycles = single_ns * fmax_mhz / 1000
    frames = [(frame.payload_b, frame.seal.first_in_to_last_out) for frame in point.cycles.frames]
    sizes = sorted([*frames, *((one.message_b, one.total) for one in point.cycles.messages or ())])
    for (size, least), (next_size, most) in pairwise(sizes):
        if least <= cycles <= most:
            return size + (next_size - size) * (cycles - least) / (most - least) if most > least else size
    return None


def _measured(point: DesignPoint, name: TargetName) -> dict[str, float | None]:
    target = point.targets.get(name)
    if target is None:
        return {}
    fmax_mhz = target.fmax_mhz
    cycles_a_frame = _slower(point, PAYLOAD_B, lambda way: way.cycles_a_frame)
    frame_ns = _ns(cycles_a_frame, fmax_mhz)
    gbit_per_s = 8 * PAYLOAD_B / frame_ns if frame_ns else None
    energy = point.energy if point.energy and point.energy.target == name else None
    split = energy.toggles_per_payload_bit if energy else None
    toggles = split.total if split else None
    return {
        **{each: getattr(target, each) for each in _COUNTS},
        "seeds": len(target.runs),
        "fmax_mhz": fmax_mhz,
        "fmax_least_mhz": min((run.fmax_mhz for run in target.runs), default=None),
        "fmax_most_mhz": max((run.fmax_mhz for run in target.runs), default=None),
        "tsu_ns": target.median_ns("tsu_ns"),
        "tco_ns": target.median_ns("tco_ns"),
        "clk_to_clk_ns": target.median_ns("clk_to_clk_ns"),
        "cycles_a_frame": cycles_a_frame,
        "frame_ns": frame_ns,
        "single_block_ns": _ns(_slower(point, BLOCK_B, lambda way: way.first_in_to_last_out), fmax_mhz),
        "single_frame_ns": _ns(_slower(point, PAYLOAD_B, lambda way: way.first_in_to_last_out), fmax_mhz),
        "gbit_per_s": gbit_per_s,
        "mbit_per_s_per_lut": 1000 * gbit_per_s / target.lut if gbit_per_s and target.lut else None,
        "toggles_per_payload_bit": toggles,
        "lut_toggles": split.lut if split else None,
        "ff_toggles": split.ff if split else None,
        "clock_toggles": split.clock if split else None,
        "toggles_per_ns": toggles * gbit_per_s if toggles is not None and gbit_per_s else None,
        "pj_per_payload_bit": energy.pj_per_payload_bit if energy else None,
    }


def _signals(measured: Mapping[str, float | None]) -> float | None:
    lut, ff = measured.get("lut_toggles"), measured.get("ff_toggles")
    return lut + ff if lut is not None and ff is not None else None


def _slower(point: DesignPoint, payload_b: int, of: Callable[[OneWay], float]) -> float | None:
    if point.cycles is None:
        return None
    for message in point.cycles.messages or ():
        if message.message_b == payload_b:
            return message.total
    frame = point.cycles.of(payload_b)
    return max(of(frame.seal), of(frame.open)) if frame else None


def _ns(cycles: float | None, fmax_mhz: float | None) -> float | None:
    return 1000 * cycles / fmax_mhz if cycles is not None and fmax_mhz else None


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None
