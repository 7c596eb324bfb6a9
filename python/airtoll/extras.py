"""Optional dependencies, which the extras of the package install."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from airtoll.errors import UsageError

EXTRAS: Final = {"figures": "vl_convert", "dask": "distributed", "labgrid": "labgrid", "pytest": "pytest"}
"""The module that each extra provides."""


def has(extra: str) -> bool:
    """Whether the extra is installed."""
    return find_spec(EXTRAS[extra]) is not None


def hint(extra: str) -> str:
    """How to install the extra."""
    return f"pipx install --force 'airtoll[{extra}]'"


def require(extra: str, purpose: str) -> Any:
    """The module of the extra. Raises UsageError with the command that installs it."""
    if not has(extra):
        raise UsageError(f"{purpose} requires the extra '{extra}': {hint(extra)}")
    return import_module(EXTRAS[extra])
