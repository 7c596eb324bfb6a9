"""What an importer makes of a file: the levels and the measurements that it tells of."""

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
    """A part of a foreign file: what airtoll does not read may be there too."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True)


ModelT = TypeVar("ModelT", bound=FileModel)


@dataclass(frozen=True)
class Reading:
    """One test that another tool recorded."""

    tool: str  # iperf3, irtt, flent
    started: datetime  # UTC
    duration_s: float  # of the measured window, as the tool was told
    levels: Mapping[str, Any]  # the factors that the file tells, as a cell holds them
    measurements: Mapping[str, Measurement]  # by probe
    probes: Sequence[ProbeName]  # what the measurements stand for in a method
    hosts: Mapping[str, Facts] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # what replicates of one cell have in common
    identity: str | None = None  # of the test, where both of its ends may have reported it


def checked(model: type[ModelT], document: Document, what: str) -> ModelT:
    """The document as the model has it. Raises UsageError naming the first place that is not."""
    try:
        return model.model_validate(document.json)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise UsageError(f"{document.name}: {what}: {place}: {first['msg']}") from None
