"""`results.json`: the measurements of each design point, with their tools and sources.

Every measurement says by `made` what it is of, so that one whose sources and tools are still the same is not done
again. What was not measured is not there: null or left out, never 0. The file is `rtl/syn/results.json` in a checkout,
which `rtl/syn` and `rtl/power` write; packages carry a copy.
"""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from airtoll.errors import AirtollError, UsageError

SCHEMA_VERSION: Final = 1

Group = Literal["standard", "paper", "repaired", "turns", "pipeline"]
"""One AES that does all; the paper's lanes as printed; those of `enhanced`; frames taking turns; all rounds at once."""

TargetName = Literal["ecp5", "gw2a18", "ice40", "cycloneive"]

Operation = Literal["seal", "open"]

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Made(_Record):
    """What a measurement is of, and what made it."""

    sha256: str  # of sources, parameters and recipe
    tools: dict[str, str]  # version by name


class Run(_Record):
    """One placement and routing. Times are of the slowest path of each kind."""

    seed: int
    fmax_mhz: Positive  # of the slowest of all paths, those between the core and registers beside it too
    clk_to_clk_ns: Positive  # register to register within the core, clock-to-output and setup included
    tsu_ns: Positive | None = None  # input of the core to register, setup included
    tco_ns: Positive | None = None  # register to output of the core, clock-to-output included


class Target(_Record):
    """A design point mapped to an FPGA; with `runs`, placed and routed."""

    made: Made
    lut: Count  # LUTs of four inputs, with those that carry chains take
    carry_lut: Count  # of these
    ff: Count
    ram_blocks: Count
    logic_elements: Count  # a LUT, a register, or a LUT with the register that it alone drives
    runs: tuple[Run, ...] = ()

    @property
    def fmax_mhz(self) -> float | None:
        """Median over the seeds."""
        return median(run.fmax_mhz for run in self.runs) if self.runs else None

    def median_ns(self, name: Literal["clk_to_clk_ns", "tsu_ns", "tco_ns"]) -> float | None:
        """Median over the seeds of one of a run's times."""
        values = [value for run in self.runs if (value := getattr(run, name)) is not None]
        return median(values) if values else None


class OneWay(_Record):
    """Clock cycles of sealing, or of opening, QoS Data frames of one size."""

    cycles_a_frame: Positive  # one after the other without end
    first_in_to_last_out: Count  # one frame in an idle core
    first_in_to_verdict: Count  # which comes when the MIC is known


class FrameCycles(_Record):
    """Both ways of one size."""

    payload_b: Count  # MSDU or A-MSDU, with LLC/SNAP
    seal: OneWay
    open: OneWay


class Cycles(_Record):
    """Clock cycles as simulated."""

    made: Made
    frames: tuple[FrameCycles, ...]

    def of(self, payload_b: int) -> FrameCycles | None:
        """Those of that size."""
        return next((one for one in self.frames if one.payload_b == payload_b), None)


class Toggles(_Record):
    """Changes of signals, each weighted by its fan-out, by what drives the signal."""

    lut: Annotated[float, Field(ge=0)]
    ff: Annotated[float, Field(ge=0)]
    clock: Annotated[float, Field(ge=0)]

    @property
    def total(self) -> float:
        """All of them."""
        return self.lut + self.ff + self.clock


class Energy(_Record):
    """An estimate from a simulation of the gates, glitches included."""

    made: Made
    target: TargetName  # whose netlist was simulated
    operation: Operation
    payload_b: Count  # of each frame
    frames: Count  # that were counted
    toggles_per_payload_bit: Toggles
    glitch_share: Annotated[float, Field(ge=0, le=1)] | None = None  # of the toggles
    pj_per_payload_bit: Positive | None = None  # a conversion, by `conversion`
    conversion: str | None = None


class Point(_Record):
    """A design point: `ccmp_core` with these parameters."""

    title: str
    group: Group
    parameters: dict[str, int]
    cycles: Cycles | None = None
    targets: dict[TargetName, Target] = {}
    energy: Energy | None = None

    @property
    def lanes(self) -> int | None:
        """Of the paper's and the repaired designs."""
        return self.parameters.get("LANES") if self.group in ("paper", "repaired") else None


class Results(_Record):
    """All that was measured, by the names of rtl/syn/points.toml."""

    schema_version: Literal[1] = SCHEMA_VERSION
    points: dict[str, Point] = {}


def default_file() -> Path:
    """The results that come with airtoll; in a checkout a link to those of `rtl/syn`."""
    return Path(__file__).with_name("results.json")


def load(file: Path) -> Results:
    """Read results. Raises UsageError if there are none, or if they cannot be read."""
    try:
        document = json.loads(file.read_bytes())
        return Results.model_validate(document)
    except FileNotFoundError:
        raise UsageError(f"{file}: there are no results; `make -C rtl synth` measures them") from None
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except ValidationError as error:
        raise UsageError(f"{file}: {first_fault(error)}") from None
    except ValueError as error:
        raise UsageError(f"{file}: not JSON: {error}") from None


def first_fault(error: ValidationError) -> str:
    """Where a document is wrong first, and how."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"


def amend(file: Path, change: Callable[[Results], Results]) -> Results:
    """Replace the file, as a whole or not at all, by what `change` makes of its present content; what it made."""
    from airtoll.store.durable import publish

    results = change(load(file) if file.exists() else Results())
    content = json.dumps(results.model_dump(mode="json", exclude_none=True), indent=1) + "\n"
    try:
        publish(file.parent, {file.name: content.encode()})
    except OSError as error:
        raise AirtollError(f"{file}: {error.strerror or error}") from None
    return results
