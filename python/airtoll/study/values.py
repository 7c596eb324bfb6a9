"""Types for the values of keys: how each is parsed, its error message, and its JSON Schema.

A study's factors, its [link] table, a scenario and the grid of a sweep all use these types, so that a key has the same
meaning everywhere.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from airtoll.study import quantity
from airtoll.study.phys import MCS, STREAMS_MAX, mcs_ranges, meanings
from airtoll.study.quantity import Quantity, is_finite, one_of, show

STATIONS_MAX = 2007
RUNS_MAX = 9999  # a run's name has four digits for its position in the plan
SEED_MAX = 2**53 - 1  # the largest integer that every JSON reader represents exactly

PROBLEM = "study"
"""The pydantic error type of this package's own messages. ctx: text, and index within a list."""

T = TypeVar("T")
Validated = tuple[PlainValidator, WithJsonSchema]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """'; did you mean ...?' if a known name is similar, otherwise an empty string."""
    # Letters in another order are the most common slip, which difflib ranks no higher than other ones.
    swapped = [one for one in known if sorted(one) == sorted(name)]
    near = swapped or difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def normal(name: str) -> str:
    """A name without the differences of spelling between users: "wifi5" for "Wi-Fi 5"."""
    return re.sub("[ -]", "", name.lower())


@dataclass(frozen=True)
class Option:
    """How `airtoll simulate` and `model` show a key as an option: the `json_schema_extra` of its pydantic field.

    Calling it, as pydantic does, adds nothing to the JSON Schema.
    """

    panel: str  # help panel
    metavar: str | None = "NAME"  # placeholder of the value; None: a switch without a value

    def __call__(self, schema: dict[str, Any]) -> None:
        """Add nothing to the JSON Schema of the key."""


def setting(text: str, panel: str, metavar: str | None = "NAME", *, default: Any = None) -> Any:
    """A key of a scenario, as a pydantic field. `text` is its description; the others are those of `Option`."""
    return Field(default=default, description=text, json_schema_extra=Option(panel, metavar))


def _refuse(text: str, **where: int) -> NoReturn:
    raise PydanticCustomError(PROBLEM, "{text}", {"text": text, **where})


def key(parse: Callable[[Any], Any], schema: dict[str, Any] | None = None) -> Validated:
    """A value that only `parse` checks. The message of its ValueError is the complete message."""

    def validate(value: Any) -> Any:
        try:
            return parse(value)
        except ValueError as error:
            _refuse(str(error))

    return PlainValidator(validate), WithJsonSchema(schema or {})


def name_of(literal: Any) -> Validated:
    """One of the names."""
    return key_of(dict.fromkeys(get_args(literal)))


def key_of(
    known: Mapping[str, Any],
    refused: Mapping[str, str] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> Validated:
    """One of the keys of a table of declarations, as of the time of the check.

    `refused` has names that users may expect, each with the reason why it is not allowed, as the rest of a sentence.
    `aliases` has further names of the keys, in the form of `normal`.
    """

    def parse(value: Any) -> str:
        names = tuple(known)
        if isinstance(value, str) and value in names:
            return value
        if isinstance(value, str) and (meant := (aliases or {}).get(normal(value))):
            return meant
        if isinstance(value, str) and (why := (refused or {}).get(value)):
            raise ValueError(f"{show(value)} {why}")
        hint = did_you_mean(value.lower(), names) if isinstance(value, str) else ""
        raise ValueError(f"{show(value)} is not allowed; use {one_of(names)}{hint}")

    return key(parse, {"type": "string", "enum": list(known)})


def names_of(names: Sequence[str]) -> Validated:
    """One of the names, or a list of several distinct names."""

    def name(value: Any) -> str:
        if isinstance(value, str) and value in names:
            return value
        hint = did_you_mean(value.lower(), names) if isinstance(value, str) else ""
        raise ValueError(f"{show(value)} is not allowed; use {one_of(names)}{hint}")

    def parse(value: Any) -> str | tuple[str, ...]:
        if not isinstance(value, list | tuple):
            return name(value)
        several = tuple(name(each) for each in value)
        if not several:
            raise ValueError("the list is empty")
        for index, each in enumerate(several):
            if each in several[:index]:
                raise ValueError(f"{show(each)} is a duplicate")
        return several[0] if len(several) == 1 else several

    of_one = {"type": "string", "enum": list(names)}
    of_list = {"type": "array", "items": of_one, "minItems": 1, "uniqueItems": True}
    return key(parse, {"anyOf": [of_one, of_list]})


def integer(least: int, most: int, why: str = "") -> Validated:
    """A whole number within the bounds. `why` gives their source."""
    because = f" ({why})" if why else ""

    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(
                f"{show(value)} is not allowed; give a whole number from {least} to {most}{because}"
            )
        return value

    return key(parse, {"type": "integer", "minimum": least, "maximum": most})


def switch() -> Validated:
    """A boolean."""

    def parse(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"{show(value)} is not allowed; use true or false")
        return value

    return key(parse, {"type": "boolean"})


def number(of: Quantity, kind: Callable[[Any], float]) -> Validated:
    """A quantity as a plain number in its unit."""
    return key(lambda value: kind(of.parse(value)), of.json_schema())


Matrix = tuple[tuple[float, ...], ...]


def matrix(value: Any, of: str) -> Matrix:
    """A square matrix of finite numbers. Raises ValueError if the value is another list."""
    rows = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(row, list | tuple) for row in rows) or any(len(row) != len(rows) for row in rows):
        raise ValueError(f"{show(value)} is not a square matrix of {of}: a list of equally long lists")
    for row in rows:
        for entry in row:
            if isinstance(entry, bool) or not isinstance(entry, int | float):
                raise ValueError(f"{show(entry)} in the matrix is not a number")
            if not is_finite(entry):
                raise ValueError(f"{show(entry)} in the matrix is not a finite number")
    return tuple(tuple(row) for row in rows)


def _rate(value: Any) -> str:
    if isinstance(value, str) and value in MCS:
        return value
    try:
        return quantity.RATE.text(quantity.RATE.parse(value))
    except ValueError as error:
        if meanings := _meanings(value):
            raise ValueError(f"{show(value)} is not an MCS; its meanings are {meanings}") from None
        raise ValueError(f"{error}, or for phy {mcs_ranges(', for ', '{phy} {rates}')}") from None


def _meanings(rate: Any) -> str:
    """The settings that have a data rate which is not a name of a rate, such as 866.7 or "866.7 Mbit/s"."""
    try:
        return meanings(float(str(rate).removesuffix("Mbit/s")))
    except ValueError:
        return ""


def or_name(of: Quantity, name: str) -> Callable[[Any], float | str]:
    """A parser of numbers of this quantity, or of the name that is used instead of a number."""

    def parse(value: Any) -> float | str:
        if value == name:
            return name
        try:
            return float(of.parse(value))
        except ValueError as error:
            raise ValueError(f"{error}, or '{name}'") from None

    return parse


parse_snr = or_name(quantity.SNR, "none")
"""Parses a ratio in dB, or "none"."""


def _named(of: Quantity, name: str) -> dict[str, Any]:
    return {"anyOf": [{"const": name}, *of.json_schema()["anyOf"]]}


def is_name(text: str) -> bool:
    """Whether a table of a study can have this name."""
    return re.fullmatch(_NAME, text) is not None


def _bare(value: Any) -> str:
    if not isinstance(value, str) or not is_name(value):
        raise ValueError(
            f"{show(value)} is not a name; names consist of a-z, 0-9, . and -, such as 'windows-8'"
        )
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{show(value)} is not a string")
    return value


def _title(value: Any) -> str:
    if not _text(value).strip() or not value.isprintable():
        raise ValueError(f"{show(value)} is not a title; give one line of text")
    return str(value)


def _lab(value: Any) -> str:
    if not re.fullmatch(_LAB, _text(value)):
        raise ValueError(f"{show(value)} is not a lab name; names consist of a-z, 0-9 and -, such as 'air'")
    return str(value)


def lab_table(value: Any) -> Any:
    """Turn the name of a lab into its table."""
    if isinstance(value, Mapping | BaseModel):
        return value
    try:
        return {"name": _lab(value)}
    except ValueError as error:
        _refuse(str(error))


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        _refuse(f"{show(value)} is not a list; a factor is a list of levels, even with one level: [...]")
    if not value:
        _refuse("the list is empty; a factor requires at least one level")
    return _short(value)


def _short(value: Any) -> Any:
    """The list, if a study can have as many cells. pydantic keeps some 500 octets per invalid element."""
    if len(value) > RUNS_MAX:
        _refuse(f"{len(value)} entries are too many; a study may have at most {RUNS_MAX} runs")
    return value


def _distinct(levels: tuple[T, ...]) -> tuple[T, ...]:
    # Check after parsing: only then are 128 and "128 B" equal.
    for index, level in enumerate(levels):
        if level in levels[:index]:
            _refuse(f"{show(level)} is a duplicate; levels must be unique", index=index)
    return levels


def tables(name: str) -> BeforeValidator:
    """A list of tables, which TOML writes with two pairs of brackets."""

    def check(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(_short(value))  # a stored plan is read strictly, and has a list
        _refuse(f"{show(value)} is not a list of tables: write [[{name}]] before each table")

    return BeforeValidator(check)


LEVELS = (BeforeValidator(_listed), AfterValidator(_distinct))
"""Validators that turn a tuple of values into the levels of a factor."""

FORGEABLE = {
    "paper-lanes": "is forgeable and only for study (docs/explanation/enhanced-ccmp.md); use enhanced8"
}
_LAB = "[a-z][a-z0-9-]*"
_NAME = "[a-z][a-z0-9.-]*"
NAME_PATTERN = f"^{_NAME}$"

Title = Annotated[str, *key(_title, {"type": "string", "minLength": 1})]
Text = Annotated[str, *key(_text, {"type": "string"})]
LabName = Annotated[str, *key(_lab, {"type": "string", "pattern": f"^{_LAB}$"})]
Duration = Annotated[float, *number(quantity.DURATION, float)]
Warmup = Annotated[float, *number(quantity.WARMUP, float)]
Seed = Annotated[int, *integer(0, SEED_MAX)]

PacketSize = Annotated[int, *number(quantity.PACKET_SIZE, int)]
SimulatedSize = Annotated[int, *number(quantity.SIMULATED_SIZE, int)]
Rate = Annotated[str, *key(_rate, {"enum": [*quantity.RATE.json_schema()["enum"], *MCS]})]
Bandwidth = Annotated[int, *number(quantity.BANDWIDTH, int)]
Streams = Annotated[int, *integer(1, STREAMS_MAX, "IEEE Std 802.11-2020, 21.5")]
Stations = Annotated[int, *integer(1, STATIONS_MAX, "association IDs: IEEE Std 802.11-2020, 9.4.1.8")]
SnrLevel = Annotated[float | Literal["none"], *key(parse_snr, _named(quantity.SNR, "none"))]
OfferedLevel = Annotated[
    float | Literal["max"], *key(or_name(quantity.DATA_RATE, "max"), _named(quantity.DATA_RATE, "max"))
]
Name = Annotated[str, *key(_bare, {"type": "string", "pattern": NAME_PATTERN})]
Percent = Annotated[float, *number(quantity.PERCENT, float)]
Confidence = Annotated[float, *number(quantity.CONFIDENCE, float)]
