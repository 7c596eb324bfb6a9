"""The option --json, and the JSON that commands print on standard output."""

import json
import math
from collections.abc import Mapping
from typing import Any

import click

from airtoll.errors import UsageError

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON on standard output, and nothing else there."
)


def print_json(value: Any) -> None:
    """Print a value as JSON. NaN and infinities, which JSON lacks, become null."""
    click.echo(json.dumps(_finite(value), indent=2, allow_nan=False))


def only_one(**formats: bool) -> None:
    """Check that at most one output format is chosen. Raises UsageError that names the options."""
    if sum(formats.values()) > 1:
        *others, last = (f"--{name}" for name in formats)
        raise UsageError(f"{', '.join(others)} and {last} are mutually exclusive")


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {key: _finite(below) for key, below in value.items()}
        case list() | tuple():
            return [_finite(below) for below in value]
        case _:
            return value
