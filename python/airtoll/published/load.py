"""Publications by name, from the data shipped with airtoll."""

from functools import cache
from pathlib import Path
from typing import TypeVar

from airtoll.errors import UsageError
from airtoll.published.publication import Operand, Publication
from airtoll.published.words import Condition
from airtoll.study.quantity import show
from airtoll.study.toml import read_toml
from airtoll.study.values import did_you_mean

AnyOperand = TypeVar("AnyOperand", bound=Operand)


def names() -> tuple[str, ...]:
    """The names of all publications, which are the names of their studies."""
    return tuple(sorted(path.stem for path in _data().glob("*.toml")))


@cache
def published(name: str) -> Publication:
    """The publication of a study. Raises UsageError for an unknown name."""
    if name not in names():
        raise UsageError(
            f"{show(name)} is not a publication; expected one of {', '.join(names())}"
            f"{did_you_mean(name, names())}"
        )
    _, raw = read_toml(_data() / f"{name}.toml", "a publication")
    read = Publication.model_validate({"name": name, **raw})
    return read.model_copy(
        update={
            "points": _based(read.points, read.condition),
            "operands": _based(read.operands, read.condition),
        }
    )


def _based(items: tuple[AnyOperand, ...], base: Condition) -> tuple[AnyOperand, ...]:
    """The items with the condition of the study added to each item that is not quoted."""
    return tuple(
        item
        if item.source is not None
        else item.model_copy(update={"condition": item.condition.with_base(base)})
        for item in items
    )


def _data() -> Path:
    return Path(__file__).parent / "data"
