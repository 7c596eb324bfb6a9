"""JSON that others wrote: its shape is checked as a whole before anything is read from it."""

import json
from collections.abc import Mapping
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from airtoll.errors import FAULTS_MOST, AirtollError
from airtoll.study.quantity import one_line, show

_Shape = TypeVar("_Shape")


def read_json(shape: TypeAdapter[_Shape], text: bytes | str, name: str) -> _Shape:
    """The document. Raises AirtollError with its name and the first value of a wrong shape, or where it is not JSON."""
    try:
        return shape.validate_json(text)
    except ValidationError as error:
        raise AirtollError(f"{name}: {first_fault(error)}") from None


_WANTED: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "unknown key",
    "json_invalid": "is not JSON",
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "expected a whole number"
    ),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "expected a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "expected true or false"),
    "string_type": "expected text",
    **dict.fromkeys(("list_type", "tuple_type"), "expected a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "expected an object"),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "timezone_aware"),
        "expected a time with its time zone",
    ),
    "ip_v4_address": "expected an IPv4 address",
    "ip_v6_address": "expected an IPv6 address",
    "string_too_short": "expected at least {min_length} characters",
    "string_too_long": "expected at most {max_length} characters",
    "too_short": "expected at least {min_length} entries",
    "too_long": "expected at most {max_length} entries",
    "greater_than": "expected a value above {gt}",
    "greater_than_equal": "expected at least {ge}",
    "less_than": "expected a value below {lt}",
    "less_than_equal": "expected at most {le}",
    "literal_error": "expected {expected}",
    "level": "expected a level or 'unknown'",  # airtoll.study.factors.OrUnknown
    "value_error": "{error}",
}
"""The expected value by pydantic's name of an error. Pydantic's own texts are for programmers."""

_SHOWN: Final = 40
"""Characters of an invalid value that a message shows."""


def first_fault(error: ValidationError) -> str:
    """The place of the first invalid value in a document with `explained`, in one line.

    A document with many invalid values has their number instead. Long lists of a shape end at their first invalid value
    (`FailFast`), because pydantic keeps some 500 octets per value.
    """
    if (count := error.error_count()) > FAULTS_MOST:
        return f"{count} values are invalid"
    first = error.errors(include_url=False)[0]
    place = ".".join(str(step) for step in first["loc"])
    return one_line(": ".join(filter(None, (place, explained(first)))), most=300)


def explained(detail: ErrorDetails) -> str:
    """The expected value of a place in a document and the invalid one, in one line."""
    wanted = _WANTED.get(detail["type"], "is invalid").format_map(detail.get("ctx", {}))
    if wanted.startswith("expected") and isinstance(got := detail["input"], str | int | float | None):
        words = show(got) if isinstance(got, int) else json.dumps(got, ensure_ascii=False)
        wanted += f", got {one_line(words, most=_SHOWN)}"
    return one_line(wanted, most=300)
