"""The stored results of design points (`airtoll.rtl.results`), for the scripts that measure."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from recipe import SYN, Design, designs

from airtoll.rtl import DesignPoint, Made, Results, amend, load

RESULTS: Final = SYN / "results.json"


def known(file: Path, name: str, design: Design) -> DesignPoint:
    """The stored results of a design point; empty if its parameters have changed."""
    return _of(load(file) if file.exists() else Results(), name, design)


def keep(file: Path, name: str, design: Design, change: Callable[[DesignPoint], DesignPoint]) -> None:
    """Change the stored results of a design point."""

    def changed(results: Results) -> Results:
        points = {**results.points, name: change(_of(results, name, design))}
        order = {each: at for at, each in enumerate(designs())}
        return Results(points=dict(sorted(points.items(), key=lambda item: order.get(item[0], len(order)))))

    amend(file, changed)


def still(known: Made, made: Made) -> bool:
    """Whether a stored measurement is up to date; a tool that only one of the two required does not count."""
    same = all(made.tools.get(name, version) == version for name, version in known.tools.items())
    return known.sha256 == made.sha256 and same


def _of(results: Results, name: str, design: Design) -> DesignPoint:
    described = {"title": design.title, "group": design.group, "parameters": design.parameters}
    before = results.points.get(name)
    if before is None or before.parameters != design.parameters:
        return DesignPoint.model_validate(described)
    return before.model_copy(update=described)
