"""The recorded files of other tools, and their import with the levels that no file contains."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from airtoll.stats import per_run
from airtoll.store import Result
from airtoll.store.importers import Given, import_files

RECORDED: Final = Path(__file__).parent / "recorded"
LEVELS: Final[dict[str, Any]] = {
    "security": "ccmp",
    "topology": "wired-ap",
    "phy": "ht",
    "rate": "mcs7",
    "bandwidth": 20,
    "gi": "long",
}

Import = Callable[..., Result]


def imported_to(directory: Path, *names: str, shared_clocks: bool = False, **levels: Any) -> Result:
    """Import these files into a result; all have the same levels except the given ones."""
    files = [Given(RECORDED / name, {**LEVELS, **levels}) for name in names]
    import_files(files, directory, "Imported", shared_clocks=shared_clocks)
    return Result.open(directory)


def numbers(result: Result) -> dict[str, float]:
    """The number of each metric of the only run."""
    return {metric: value for _, metric, value in per_run(result.samples())}


def by_run(result: Result, metric: str) -> list[float]:
    """The numbers of a metric, in the order of the runs."""
    return [value for _, name, value in per_run(result.samples()) if name == metric]
