"""The result of reading a foreign file: the levels and the measurements in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

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
class Reading:
    """One test that another tool recorded."""

    tool: str  # iperf3, irtt, flent
    started: datetime  # UTC
    duration_s: float  # configured length of the measured window
    levels: Mapping[str, Any]  # the factors in the file, as levels of a cell
    measurements: Mapping[str, Measurement]  # by probe
    probes: Sequence[ProbeName]  # the probes of a method that correspond to the measurements
    hosts: Mapping[str, Facts] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # must be equal in replicates of one cell
    identity: str | None = None  # identifies the test, if both of its ends may have reported it


def checked(model: type[ModelT], document: Document, what: str) -> ModelT:
    """Validate the document. Raises UsageError with the first invalid location."""
    try:
        return model.model_validate(document.json)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise UsageError(f"{document.name}: {what}: {place}: {first['msg']}") from None
