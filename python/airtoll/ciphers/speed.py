"""Benchmarks of frame protection on this machine, with airtoll's engine and the installed libraries.

`docs/explanation/ciphers.md` describes the method and the figures. A case is one suite, payload size and way; a
measurement is the result of one implementation on one case.
"""

import itertools
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import linear_regression
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, FailFast

from airtoll import _rust
from airtoll.ciphers import parts
from airtoll.ciphers.parts import PAPER_LANES, printed_lanes
from airtoll.ciphers.peers import Peers
from airtoll.errors import UsageError

Implementation = Literal["airtoll", "openssl", "ipsec-mb"]
Operation = Literal["seal", "open"]
LaneScheme = Literal["paper-lanes", "enhanced"]

IMPLEMENTATIONS: tuple[Implementation, ...] = ("airtoll", "openssl", "ipsec-mb")
SUITES = tuple(name for name, suite in parts.SUITES.items() if not suite.is_bip)
"""All suites that protect data."""
ENHANCED = "enhanced"
"""Selects this suite with every number of lanes."""
LANE_SCHEMES: tuple[LaneScheme, ...] = ("paper-lanes", "enhanced")
LANES = (1, 2, 4, 8)
BACKENDS = ("portable", "aesni", "vaes256", "vaes512")
IMIX = "imix"
SIZES: tuple[int | None, ...] = (64, 128, 256, 512, 1024, 1408, 1500, 2304, 7935, None)
"""Payload sizes in octets; None is IMIX: of every twelve payloads, 7 have 64, 4 have 576 and 1 has 1500 octets."""
MOST_SIZE_B = 7935
"""The longest A-MSDU of 802.11n (IEEE 802.11-2020 9.4.2.55.2)."""
FIGURES = (".svg", ".png", ".html")
"""Suffixes of the files that `airtoll.ciphers.figure` writes."""
BATCH = 96
"""Frames per batch, which `airtoll-peers` checks."""

OTHER_WORK = "other"
"""Bounds a case that spends less than half of the time at the limit: headers, nonces and AAD, the order, MICs."""

_MOST_OF_TIME = 0.5
_BUDGET_S = 24.0
_LANES_S = 0.4  # per scheme, number of lanes and size, for its four parts
_MOST_S = 0.15  # more time per case does not improve the result


@dataclass(frozen=True)
class ProtectionMode:
    """How the frames of a case are protected."""

    operation: Operation
    batch: int  # 1: each frame completes before the next one starts
    keys: int  # 1: one key for all frames; otherwise one key per frame


WAYS = (
    *(ProtectionMode(operation, BATCH, keys) for keys in (1, BATCH) for operation in ("seal", "open")),
    *(ProtectionMode(operation, 1, 1) for operation in ("seal", "open")),
)
USUAL = WAYS[0]
ONE_BY_ONE = WAYS[-2]


@dataclass(frozen=True)
class BenchmarkCase:
    """One suite, payload size and way, measured together."""

    suite: str
    size_b: int | None  # None: IMIX
    way: ProtectionMode


class Library(BaseModel):
    """A library compared with the engine."""

    model_config = ConfigDict(frozen=True)

    version: str | None
    absent: str | None  # why it was not measured


class BenchmarkHost(BaseModel):
    """The machine and the software of the measurements."""

    model_config = ConfigDict(frozen=True)

    airtoll_version: str
    cpu_model: str | None
    architecture: str
    ghz: float | None  # clock rate of the core, measured separately
    backend: str  # of the engine
    libraries: dict[str, Library]
    cycles_per_aes128_block: float | None  # throughput of the widest AES instructions
    cycles_per_aes128_block_in_a_chain: float | None  # latency: each block depends on the previous one


class SpeedMeasurement(BaseModel):
    """One implementation on one case: medians with first and third quartiles."""

    model_config = ConfigDict(frozen=True)

    suite: str
    size_b: int | None  # payload; null for a mix of sizes
    mix: Literal["imix"] | None
    mean_payload_b: float
    implementation: Implementation
    interface: str | None  # the engine's backend, or the fastest of the library's interfaces
    operation: Operation
    batch: int
    keys: int
    gbit_per_s: float  # of payload
    gbit_per_s_quartiles: tuple[float, float]
    cycles_per_byte: float | None  # core cycles; null if they cannot be counted
    cycles_per_byte_quartiles: tuple[float, float] | None
    limit_cycles_per_byte: float | None  # limit of this CPU, the same for all; null without AES
    limited_by: str | None  # AES, GHASH, both, or chain: the throughput of these units, or the latency of AES
    airtoll_ratio: float | None = None  # of a library: airtoll's median rate divided by the library's
    airtoll_ratio_resolved: bool | None = (
        None  # of a library: whether the quartiles of both rates do not overlap
    )

    @property
    def way(self) -> ProtectionMode:
        """How the frames were protected."""
        return ProtectionMode(self.operation, self.batch, self.keys)

    def beside(self, ours: "SpeedMeasurement") -> "SpeedMeasurement":
        """Return this measurement of a library, compared with that of airtoll.

        The order is resolved if the ranges between the quartiles do not overlap. Both took turns on the same core, so
        a disturbance widens both ranges.
        """
        (low, high), (our_low, our_high) = self.gbit_per_s_quartiles, ours.gbit_per_s_quartiles
        return self.model_copy(
            update={
                "airtoll_ratio": ours.gbit_per_s / self.gbit_per_s,
                "airtoll_ratio_resolved": our_low > high or our_high < low,
            }
        )

    @property
    def spread(self) -> float:
        """Half of the range between the quartiles of the rate, as a share of the median."""
        low, high = self.gbit_per_s_quartiles
        return (high - low) / 2 / self.gbit_per_s

    @property
    def share_of_limit(self) -> float | None:
        """The limit divided by the measured cycles per byte: 1 if only AES rounds take time."""
        if self.limit_cycles_per_byte is None or self.cycles_per_byte is None:
            return None
        return self.limit_cycles_per_byte / self.cycles_per_byte

    @property
    def bound_by(self) -> str | None:
        """The part of the CPU that sets the limit, if it takes most of the time, or OTHER_WORK. None without AES."""
        share = self.share_of_limit
        return None if share is None else self.limited_by if share >= _MOST_OF_TIME else OTHER_WORK


class LaneTimes(BaseModel):
    """Times of one frame with a number of lanes, frame by frame under one key: medians, null if never steady."""

    model_config = ConfigDict(frozen=True)

    scheme: LaneScheme
    forgeable: bool
    lanes: int
    size_b: int  # payload
    mic_us: float | None  # CBC-MAC
    ctr_us: float | None


class Speeds(BaseModel):
    """The document that `airtoll ciphers --json` prints."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    host: BenchmarkHost
    complete: bool  # false: interrupted before all cases were measured
    measurements: Annotated[tuple[SpeedMeasurement, ...], FailFast()]
    lanes: Annotated[tuple[LaneTimes, ...], FailFast()] = ()  # with paper-lanes


def card_times(speeds: Speeds, suite: str) -> tuple[float, float]:
    """The time to seal a frame of a suite one by one, as a line: us per frame, and ns per byte.

    The line is that of airtoll's engine through all sizes. Raises UsageError without two sizes.
    """
    points = [
        (each.size_b, 8 * each.size_b / each.gbit_per_s)
        for each in speeds.measurements
        if each.implementation == "airtoll" and each.suite == suite and each.way == ONE_BY_ONE and each.size_b
    ]
    if len({size_b for size_b, _ in points}) < 2:
        raise UsageError(f"two sizes of {suite}, sealed one by one, are required; found {len(points)}")
    slope, intercept = linear_regression(*zip(*points, strict=True))
    return max(intercept, 0.0) / 1e3, slope


def choose_backend(name: str | None = None) -> str:
    """The named backend of the engine, or the fastest. Raises UsageError if it is not available."""
    available = _rust.backends()
    if name is not None and name not in BACKENDS:
        raise UsageError(f"--backend: '{name}' is not one of {', '.join(BACKENDS)}")
    if name is not None and name not in available:
        raise UsageError(f"--backend: this CPU does not support {name}, only {', '.join(available)}")
    return name or available[-1]


def look(peers: Peers, backend: str) -> BenchmarkHost:
    """The machine, its libraries and the engine's backend."""
    found = peers.ask("host")
    return BenchmarkHost(
        airtoll_version=_rust.VERSION,
        cpu_model=found["cpu_model"],
        architecture=platform.machine(),
        ghz=found["ghz"],
        backend=backend,
        libraries={
            name: Library(**found["libraries"][name])
            for name in IMPLEMENTATIONS
            if name in found["libraries"]
        },
        cycles_per_aes128_block=_rounds(found["cycles_per_aes_round"]),
        cycles_per_aes128_block_in_a_chain=_rounds(found["cycles_of_aes_latency"]),
    )


def _rounds(cycles: float | None) -> float | None:
    return None if cycles is None else 10 * cycles  # FIPS 197 section 5


def choose_suites(names: Iterable[str]) -> tuple[str, ...]:
    """The named suites in the usual order; all suites without names. Raises UsageError for an unknown name."""
    chosen = set()
    for name in names:
        found = [
            suite
            for suite in SUITES
            if suite == name or (name == ENHANCED and printed_lanes(suite) is not None)
        ]
        if not found:
            raise UsageError(f"--suite: '{name}' is not one of {', '.join((*SUITES, ENHANCED, PAPER_LANES))}")
        chosen.update(found)
    return tuple(suite for suite in SUITES if suite in chosen) or SUITES


def choose_sizes(words: Iterable[str]) -> tuple[int | None, ...]:
    """The given sizes in ascending order, IMIX last; all sizes without words. Raises UsageError for an invalid size."""
    chosen = {_size(word) for word in words}
    sizes = (*sorted(size for size in chosen if size is not None), *([None] if None in chosen else []))
    return sizes or SIZES


def _size(word: str) -> int | None:
    if word == IMIX:
        return None
    if not (word.isascii() and word.isdecimal() and len(word) <= 5 and 1 <= int(word) <= MOST_SIZE_B):
        raise UsageError(f"--size: '{word}' is neither {IMIX} nor a number of bytes from 1 to {MOST_SIZE_B}")
    return int(word)


def plan(suites: Sequence[str], sizes: Sequence[int | None]) -> list[BenchmarkCase]:
    """Every combination of suite, size and way."""
    return [BenchmarkCase(*one) for one in itertools.product(suites, sizes, WAYS)]


def measure(
    peers: Peers, cases: Sequence[BenchmarkCase], backend: str
) -> Iterator[tuple[BenchmarkCase, list[SpeedMeasurement]]]:
    """Measure the cases in order; yield each case with the measurements of all implementations.

    The outputs of all implementations are compared before they are timed. Raises AirtollError if they differ.
    """
    within_s = min(_BUDGET_S / max(len(cases), 1), _MOST_S)
    for case in cases:
        yield case, _measure_one(peers, case, backend, within_s)


def plan_lanes(sizes: Sequence[int | None]) -> list[tuple[LaneScheme, int, int]]:
    """Scheme, lanes and payload size of all measurements of lanes; IMIX is omitted."""
    return [
        (scheme, lanes, size_b)
        for size_b in sizes
        if size_b is not None
        for lanes in LANES
        for scheme in LANE_SCHEMES
    ]


def measure_lanes(peers: Peers, scheme: LaneScheme, lanes: int, size_b: int, backend: str) -> LaneTimes:
    """Measure the MIC and CTR of a frame. The outputs are compared first; raises AirtollError if they differ."""
    us = peers.ask("parts", scheme=f"{scheme}{lanes}", payload_b=size_b, backend=backend, within_s=_LANES_S)
    return LaneTimes(
        scheme=scheme,
        forgeable=scheme == PAPER_LANES,
        lanes=lanes,
        size_b=size_b,
        mic_us=us.get("mic"),
        ctr_us=us.get("cipher"),
    )


def _measure_one(peers: Peers, case: BenchmarkCase, backend: str, within_s: float) -> list[SpeedMeasurement]:
    way = case.way
    measured = peers.ask(
        "case",
        suite=case.suite,
        size_b=case.size_b,
        operation=way.operation,
        batch=way.batch,
        keys=way.keys,
        backend=backend,
        within_s=within_s,
    )
    best: dict[str, SpeedMeasurement] = {}
    for speed in measured["speeds"]:
        best.setdefault(
            speed["implementation"],
            SpeedMeasurement.model_validate(
                {
                    "suite": case.suite,
                    "size_b": case.size_b,
                    "mix": IMIX if case.size_b is None else None,
                    "mean_payload_b": measured["payload_b"],
                    "operation": way.operation,
                    "batch": way.batch,
                    "keys": way.keys,
                    **speed,
                    "limit_cycles_per_byte": measured["limit_cycles_per_byte"],
                    "limited_by": measured["limited_by"],
                }
            ),
        )
    ours = best.get("airtoll")
    return [
        best[name] if ours is None or name == "airtoll" else best[name].beside(ours)
        for name in IMPLEMENTATIONS
        if name in best
    ]
