"""How fast this machine protects frames, with airtoll's engine and with the libraries that are here.

`docs/explanation/ciphers.md` says how it is measured and what the figures count. A case is one suite, payload size and
way; a measurement is what one implementation does with it.
"""

import itertools
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from airtoll import _rust
from airtoll.errors import AirtollError, UsageError

Implementation = Literal["airtoll", "openssl", "ipsec-mb"]
Operation = Literal["seal", "open"]

IMPLEMENTATIONS: tuple[Implementation, ...] = ("airtoll", "openssl", "ipsec-mb")
SUITES = tuple(_rust.speed_suites())
ENHANCED = "enhanced"
"""Stands for this suite with every number of lanes."""
BACKENDS = ("portable", "aesni", "vaes256", "vaes512")
IMIX = "imix"
SIZES: tuple[int | None, ...] = (64, 128, 256, 512, 1024, 1408, 1500, 2304, 7935, None)
"""Octets of the payload; None is IMIX: of every twelve 7 of 64, 4 of 576 and 1 of 1500 octets."""
MOST_SIZE_B = 7935
"""The longest A-MSDU of 802.11n (IEEE 802.11-2020 9.4.2.55.2)."""
BATCH = _rust.SPEED_BATCH

_BUDGET_S = 24.0
_MOST_S = 0.15  # no case gains from more


@dataclass(frozen=True)
class Way:
    """How the frames of a case are protected."""

    operation: Operation
    batch: int  # 1: each frame is done before the next starts
    keys: int  # one for all frames, or one for each


WAYS = (
    *(Way(operation, BATCH, keys) for keys in (1, BATCH) for operation in ("seal", "open")),
    *(Way(operation, 1, 1) for operation in ("seal", "open")),
)
USUAL = WAYS[0]
ONE_BY_ONE = WAYS[-2]


@dataclass(frozen=True)
class Case:
    """What is measured at one go."""

    suite: str
    size_b: int | None  # None: IMIX
    way: Way


class Library(BaseModel):
    """A library beside the engine."""

    model_config = ConfigDict(frozen=True)

    version: str | None
    absent: str | None  # why there are no measurements of it


class Host(BaseModel):
    """What the figures were measured on."""

    model_config = ConfigDict(frozen=True)

    airtoll_version: str
    cpu_model: str | None
    architecture: str
    ghz: float | None  # the core's clock while nothing else was measured
    backend: str  # the engine's
    libraries: dict[str, Library]
    cycles_per_aes128_block: float | None  # at the throughput of the widest AES instructions
    cycles_per_aes128_block_in_a_chain: float | None  # where each block waits for the one before


class Measurement(BaseModel):
    """One implementation on one case; medians, with first and third quartile."""

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
    cycles_per_byte: float | None  # core cycles; null where they cannot be counted
    cycles_per_byte_quartiles: tuple[float, float] | None
    limit_cycles_per_byte: float | None  # what this CPU's AES unit allows, for all alike; null without AES

    @property
    def way(self) -> Way:
        """How the frames were protected."""
        return Way(self.operation, self.batch, self.keys)

    @property
    def share_of_limit(self) -> float | None:
        """1 where nothing but AES rounds takes time."""
        if self.limit_cycles_per_byte is None or self.cycles_per_byte is None:
            return None
        return self.limit_cycles_per_byte / self.cycles_per_byte


class Speeds(BaseModel):
    """The document that `airtoll ciphers --json` prints."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    host: Host
    complete: bool  # false: it was stopped before all was measured
    measurements: tuple[Measurement, ...]


def look(backend: str | None = None) -> Host:
    """The machine, with the engine's backend: the fastest, or the one asked for. UsageError if there is none."""
    found = _rust.speed_host()
    if backend is not None and backend not in BACKENDS:
        raise UsageError(f"--backend: '{backend}' is not one of {', '.join(BACKENDS)}")
    if backend is not None and backend not in found.backends:
        raise UsageError(f"--backend: this CPU cannot run {backend}, only {', '.join(found.backends)}")
    return Host(
        airtoll_version=_rust.VERSION,
        cpu_model=found.cpu_model,
        architecture=platform.machine(),
        ghz=found.ghz,
        backend=backend or found.backends[-1],
        libraries={
            name: Library(version=version, absent=absent) for name, version, absent in found.libraries
        },
        cycles_per_aes128_block=_rounds(found.cycles_per_aes_round),
        cycles_per_aes128_block_in_a_chain=_rounds(found.cycles_of_aes_latency),
    )


def _rounds(cycles: float | None) -> float | None:
    return None if cycles is None else 10 * cycles  # FIPS 197 section 5


def choose_suites(names: Iterable[str]) -> tuple[str, ...]:
    """The suites of these names, in the usual order; all if there are none. UsageError for an unknown one."""
    chosen = set()
    for name in names:
        found = [
            suite for suite in SUITES if suite == name or (name == ENHANCED and suite.startswith(ENHANCED))
        ]
        if not found:
            raise UsageError(f"--suite: '{name}' is not one of {', '.join((*SUITES, ENHANCED))}")
        chosen.update(found)
    return tuple(suite for suite in SUITES if suite in chosen) or SUITES


def choose_sizes(words: Iterable[str]) -> tuple[int | None, ...]:
    """The sizes that these words are, the smallest first and IMIX last; all if there are none. UsageError."""
    chosen = {_size(word) for word in words}
    sizes = (*sorted(size for size in chosen if size is not None), *([None] if None in chosen else []))
    return sizes or SIZES


def _size(word: str) -> int | None:
    if word == IMIX:
        return None
    if not (word.isascii() and word.isdecimal() and len(word) <= 5 and 1 <= int(word) <= MOST_SIZE_B):
        raise UsageError(f"--size: '{word}' is neither {IMIX} nor a number of bytes from 1 to {MOST_SIZE_B}")
    return int(word)


def plan(suites: Sequence[str], sizes: Sequence[int | None]) -> list[Case]:
    """Every suite at every size in every way."""
    return [Case(*one) for one in itertools.product(suites, sizes, WAYS)]


def measure(cases: Sequence[Case], backend: str) -> Iterator[tuple[Case, list[Measurement]]]:
    """Measures one case after the other, in the order given; what every implementation does with it.

    The outputs of all are compared before time is taken; AirtollError if they are not the same.
    """
    within_s = min(_BUDGET_S / max(len(cases), 1), _MOST_S)
    for case in cases:
        yield case, _measure_one(case, backend, within_s)


def _measure_one(case: Case, backend: str, within_s: float) -> list[Measurement]:
    way = case.way
    try:
        measured = _rust.measure_speed(
            case.suite,
            case.size_b,
            way.operation == "open",
            way.keys > 1,
            way.batch == 1,
            backend,
            within_s,
        )
    except RuntimeError as error:
        raise AirtollError(f"ciphers: {error}") from error
    best: dict[str, Measurement] = {}
    for speed in measured.speeds:
        best.setdefault(
            speed.implementation,
            Measurement.model_validate(
                {
                    "suite": case.suite,
                    "size_b": case.size_b,
                    "mix": IMIX if case.size_b is None else None,
                    "mean_payload_b": measured.payload_b,
                    "implementation": speed.implementation,
                    "interface": speed.interface,
                    "operation": way.operation,
                    "batch": way.batch,
                    "keys": way.keys,
                    "gbit_per_s": speed.gbit_per_s,
                    "gbit_per_s_quartiles": speed.gbit_per_s_quartiles,
                    "cycles_per_byte": speed.cycles_per_byte,
                    "cycles_per_byte_quartiles": speed.cycles_per_byte_quartiles,
                    "limit_cycles_per_byte": measured.limit_cycles_per_byte,
                }
            ),
        )
    return [best[name] for name in IMPLEMENTATIONS if name in best]
