"""JSON that others wrote: its shape is checked as a whole before anything is read from it."""

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from airtoll.errors import AirtollError
from airtoll.study.quantity import one_line

_Shape = TypeVar("_Shape")


def read_json(shape: TypeAdapter[_Shape], text: bytes | str, name: str) -> _Shape:
    """The document. Raises AirtollError with its name and the first value of a wrong shape, or where it is not JSON."""
    try:
        return shape.validate_json(text)
    except ValidationError as error:
        raise AirtollError(f"{name}: {first_fault(error)}") from None


def first_fault(error: ValidationError) -> str:
    """The place and the message of the first error in a document, in one line."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(step) for step in first["loc"])
    return one_line(": ".join(filter(None, (place, first["msg"]))), most=300)
