"""`results.json`: the measurements of each design point, with their tools and sources.

`made` identifies the sources and tools of every measurement, so that a measurement is repeated only if they change. A
missing measurement is null or left out, never 0. In a checkout the file is `rtl/syn/results.json`, written by `rtl/syn`
and `rtl/power`; packages contain a copy.
"""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

from airtoll.documents import first_fault
from airtoll.errors import AirtollError, UsageError

SCHEMA_VERSION: Final = 1

Group = Literal["standard", "paper", "repaired", "turns", "pipeline", "cbc", "ctr"]
"""One AES core for everything; the paper's lanes as printed; the lanes of `enhanced`; frames in turn; a pipeline; the
paper's designs of CBC and of CTR alone, in one lane (its standard design) or more."""

TargetName = Literal["ecp5", "gw2a18", "ice40", "cycloneive"]

Operation = Literal["seal", "open"]

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Made(_Record):
    """The sources and tools of a measurement."""

    sha256: str  # hash of sources, parameters and recipe
    tools: dict[str, str]  # versions by name


class PlacementRun(_Record):
    """One run of placement and routing. Each time is that of the slowest path of its kind."""

    seed: int
    fmax_mhz: Positive  # of the slowest path, including paths between the core and the registers around it
    clk_to_clk_ns: Positive  # register to register within the core, clock-to-output and setup included
    tsu_ns: Positive | None = None  # input of the core to register, setup included
    tco_ns: Positive | None = None  # register to output of the core, clock-to-output included


class Target(_Record):
    """A design point mapped to an FPGA; with `runs`, also placed and routed."""

    made: Made
    lut: Count  # LUTs of four inputs, including the LUTs of carry chains
    carry_lut: Count  # LUTs of carry chains
    ff: Count
    ram_blocks: Count
    logic_elements: Count  # each is a LUT, a register, or a LUT with the only register that it drives
    runs: Annotated[tuple[PlacementRun, ...], FailFast()] = ()

    @property
    def fmax_mhz(self) -> float | None:
        """The median over the seeds."""
        return median(run.fmax_mhz for run in self.runs) if self.runs else None

    def median_ns(self, name: Literal["clk_to_clk_ns", "tsu_ns", "tco_ns"]) -> float | None:
        """The median over the seeds of one of the times of a run."""
        values = [value for run in self.runs if (value := getattr(run, name)) is not None]
        return median(values) if values else None


class OneWay(_Record):
    """Clock cycles to seal or to open QoS Data frames of one size."""

    cycles_a_frame: Positive  # in a continuous stream of frames
    first_in_to_last_out: Count  # of one frame in an idle core
    first_in_to_verdict: Count  # of one frame, until the MIC is known


class FrameCycles(_Record):
    """Sealing and opening frames of one size."""

    payload_b: Count  # MSDU or A-MSDU, with LLC/SNAP
    seal: OneWay
    open: OneWay


class MessageCycles(_Record):
    """A message in a design of CBC or CTR alone."""

    message_b: Count
    total: Count  # from the first group of blocks in to the last result out


class Cycles(_Record):
    """Clock cycles by simulation: of frames or, for a design of CBC or CTR alone, of messages."""

    made: Made
    frames: Annotated[tuple[FrameCycles, ...], FailFast()] = ()
    messages: tuple[MessageCycles, ...] | None = None

    def of(self, payload_b: int) -> FrameCycles | None:
        """The cycles of a payload size; None if it was not simulated."""
        return next((one for one in self.frames if one.payload_b == payload_b), None)


class Toggles(_Record):
    """Toggles of signals, weighted by fan-out, by the driver of the signal."""

    lut: Annotated[float, Field(ge=0)]
    ff: Annotated[float, Field(ge=0)]
    clock: Annotated[float, Field(ge=0)]

    @property
    def total(self) -> float:
        """The sum of all toggles."""
        return self.lut + self.ff + self.clock


class Energy(_Record):
    """An estimate from a gate-level simulation, including glitches."""

    made: Made
    target: TargetName  # the target of the simulated netlist
    operation: Operation
    payload_b: Count  # per frame
    frames: Count  # number of frames counted
    toggles_per_payload_bit: Toggles
    glitch_share: Annotated[float, Field(ge=0, le=1)] | None = None  # fraction of the toggles
    pj_per_payload_bit: Positive | None = None  # converted from toggles as `conversion` describes
    conversion: str | None = None


class DesignPoint(_Record):
    """A design point: `ccmp_core`, or the paper's design of CBC or CTR alone, with these parameters."""

    title: str
    group: Group
    parameters: dict[str, int]
    cycles: Cycles | None = None
    targets: dict[TargetName, Target] = {}
    energy: Energy | None = None

    @property
    def lanes(self) -> int | None:
        """The number of lanes of a design that has lanes; None for other groups."""
        return self.parameters.get("LANES") if self.group in ("paper", "repaired", "cbc", "ctr") else None


class Results(_Record):
    """All measurements, by the names of rtl/syn/points.toml."""

    schema_version: Literal[1] = SCHEMA_VERSION
    points: dict[str, DesignPoint] = {}


def default_file() -> Path:
    """The results shipped with airtoll; in a checkout, a link to the results of `rtl/syn`."""
    return Path(__file__).with_name("results.json")


def load(file: Path) -> Results:
    """Read results. Raises UsageError if the file is missing, unreadable or invalid."""
    try:
        document = json.loads(file.read_bytes())
        return Results.model_validate(document)
    except FileNotFoundError:
        raise UsageError(f"{file}: no results; `make -C rtl synth` measures them") from None
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except ValidationError as error:
        raise UsageError(f"{file}: {first_fault(error)}") from None
    except RecursionError:
        raise UsageError(f"{file}: is nested too deeply for results") from None
    except ValueError as error:
        raise UsageError(f"{file}: invalid JSON: {error}") from None


def amend(file: Path, change: Callable[[Results], Results]) -> Results:
    """Apply `change` to the results in the file, replace the file atomically, and return the new results."""
    from airtoll.durable import publish

    results = change(load(file) if file.exists() else Results())
    content = json.dumps(results.model_dump(mode="json", exclude_none=True), indent=1) + "\n"
    try:
        publish(file.parent, {file.name: content.encode()})
    except OSError as error:
        raise AirtollError(f"{file}: {error.strerror or error}") from None
    return results
