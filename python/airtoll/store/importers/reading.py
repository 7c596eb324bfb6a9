"""One shape for all importers: a format recognises a document and reads it into the tests in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from airtoll.documents import first_fault
from airtoll.errors import UsageError
from airtoll.probes.base import Measurement
from airtoll.probes.flows import Way
from airtoll.store.importers.files import Document
from airtoll.store.records import Facts
from airtoll.study.cell import ProbeName

OTHER_WAY: Mapping[Way, Way] = {"up": "down", "down": "up"}


class FileModel(BaseModel):
    """A part of a foreign file. Keys that airtoll does not read are allowed."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True)


ModelT = TypeVar("ModelT", bound=FileModel)


@dataclass(frozen=True)
class Asked:
    """The facts that a document does not contain."""

    client: Literal["sta", "ap"] = "sta"  # the end on which the tool's client ran
    shared_clocks: bool = False  # whether both ends read the same clock

    @property
    def forth(self) -> Way:
        """The direction from the client to the server."""
        return "up" if self.client == "sta" else "down"


@dataclass(frozen=True)
class Reading:
    """One test that another tool recorded."""

    tool: str  # iperf3, irtt, flent, iperf, ...
    started: datetime | None  # UTC; None if the file does not say
    duration_s: float  # length of the measured window
    levels: Mapping[str, Any]  # the factors in the file, as levels of a cell
    measurements: Mapping[str, Measurement]  # by probe
    probes: Sequence[ProbeName]  # the probes of a method that correspond to the measurements
    hosts: Mapping[str, Facts] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # must be equal in replicates of one cell
    identity: str | None = None  # identifies the test, if both of its ends may have reported it
    end: Literal["client", "server"] | None = (
        None  # that reported it; None: `identity` is unique among all tests
    )
    absent: Mapping[str, str] = field(default_factory=dict)  # metrics that do not count, with the reason


@dataclass(frozen=True, kw_only=True)
class Format:
    """A kind of file that airtoll imports. The documentation and the error for other files derive from it."""

    tool: str  # for readers
    files: str  # the options that write such a file, and its variants; Markdown
    imported: str  # the imported data
    recognises: Callable[[Document], bool]
    read: Callable[[Document, Asked], Sequence[Reading]]
    """The tests in a document that the format recognises, in order. Raises UsageError with file and line."""
    repeatable: frozenset[str] = frozenset()  # keys that `read` accepts several times in one JSON object


def checked(model: type[ModelT], document: Document, what: str) -> ModelT:
    """Validate the document. Raises UsageError with the first invalid value."""
    try:
        return model.model_validate(document.json)
    except ValidationError as error:
        raise UsageError(f"{document.name}: {what}: {first_fault(error)}") from None
