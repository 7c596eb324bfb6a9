"""The keys of the table [link] and of a scenario, as the medium declares them.

Rust alone knows their names, values, texts, labs and requirements.

The tables of study files, their JSON Schema and reference page, the options of `airtoll simulate` and `model`, the keys
of sweeps, the medium's JSON and the errors derive from here. A new key is one row in
`crates/wlan-scenario/src/scenario/contract.rs`, and one field of the Rust struct that applies it.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from airtoll import _rust
from airtoll.study import quantity
from airtoll.study.quantity import is_finite, show
from airtoll.study.values import (
    Matrix,
    Validated,
    did_you_mean,
    integer,
    key,
    key_of,
    matrix,
    names_of,
    number,
    setting,
    switch,
)

KEYS: Final[Mapping[str, _rust.ScenarioKey]] = {declared.name: declared for declared in _rust.scenario_keys()}
"""Every key by name, in the order of a scenario's JSON."""


def keys_of(*tables: str) -> tuple[str, ...]:
    """The keys that these tables have."""
    return tuple(name for name, declared in KEYS.items() if declared.table in tables)


MEDIUM_KEYS: Final = keys_of("hosts", "medium")
"""The keys of [link] that the medium has."""


def model_of(name: str, base: type[BaseModel], *tables: str) -> Any:
    """A pydantic model with the keys of these tables. All keys are optional."""
    fields: dict[str, Any] = {each: _field(KEYS[each]) for each in keys_of(*tables)}
    return create_model(name, __base__=base, **fields)


def _field(declared: _rust.ScenarioKey) -> tuple[Any, Any]:
    """Type and field of a key, for pydantic."""
    kind, checks, metavar = _type(declared.values)
    checked: Any = Annotated[kind, *checks] if checks else kind
    if declared.initial is None:
        return checked | None, setting(declared.text, declared.panel, metavar)
    return checked, setting(declared.text, declared.panel, metavar, default=kind(declared.initial))


def _type(values: _rust.Values) -> tuple[Any, tuple[Any, ...], str | None]:
    """The type of values, its validators, and the placeholder of its option."""
    found: tuple[Any, tuple[Any, ...], str | None]
    match values.kind:
        case "word":
            found = str, key_of(dict.fromkeys(values.words)), "NAME"
        case "words":
            found = str | tuple[str, ...], names_of(values.words), "NAME"
        case "switch":
            found = bool, switch(), None
        case "integer":
            found = int, integer(*values.bounds, values.of), "N"
        case "quantity":
            found = float, *_number(values.of, float)
        case "whole quantity":
            found = int, *_number(values.of, int)
        case "matrix":
            found = Matrix, key(lambda value: matrix(value, values.of)), "MATRIX"
        case "table":
            # Any: pydantic warns about the model of a plain validator when it dumps the settings.
            found = Any, _table(values.parameters), "TABLE"
        case _:
            found = object, (), "NAME"  # the level of a factor, whose type the factor declares
    return found


def _number(name: str, kind: Callable[[Any], float]) -> tuple[Validated, str]:
    of: quantity.Quantity = getattr(quantity, name)
    return number(of, kind), {"B": "BYTES", "s": "SECONDS"}.get(of.unit, of.unit.upper())


def _table(parameters: list[tuple[str, _rust.Values]]) -> Validated:
    """A table of parameters by the names of the medium, which has their defaults."""
    fields: dict[str, Any] = {name: (_parameter(values) | None, None) for name, values in parameters}
    of_matrices = {name: values.of for name, values in parameters if values.kind == "number or matrix"}
    model = create_model("Parameters", __config__=ConfigDict(frozen=True, extra="forbid"), **fields)

    def parse(value: Any) -> BaseModel:
        if isinstance(value, model):
            return value
        if not isinstance(value, Mapping):
            raise ValueError(f"{show(value)} is not a table of parameters")
        given: dict[str, Any] = {}
        for name, parameter in value.items():
            if name not in fields:
                raise ValueError(f"{show(name)}: unknown key{did_you_mean(name, fields)}")
            if isinstance(parameter, int | float) and not is_finite(parameter):
                raise ValueError(f"{name}: {show(parameter)} is not a finite number")
            is_list = isinstance(parameter, list | tuple)
            given[name] = (
                matrix(parameter, of_matrices[name]) if is_list and name in of_matrices else parameter
            )
        try:
            return model.model_validate(given, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise ValueError(f"{first['loc'][0]}: {show(first['input'])}: {first['msg']}") from None

    return key(parse, {"type": "object"})


def _parameter(values: _rust.Values) -> Any:
    match values.kind:
        case "word":
            return Literal[tuple(values.words)]
        case "number or matrix":
            return float | Matrix
        case _:
            return float
