"""The cells of a study: the levels that are crossed, with the tables `[[factors.where]]`.

The tables divide the cells by the levels that they name. In each part, all levels are crossed; a part differs from the
others in the levels that its tables replace.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from airtoll.study.factors import FACTORS
from airtoll.study.schema import Factors

Crossed = Mapping[str, tuple[Any, ...]]
"""The levels of each factor. All of these levels are crossed."""


def crossed(factors: Factors, kept: Crossed | None = None) -> Iterator[Crossed]:
    """The parts of the cells. A later table replaces an earlier one.

    `kept` are the levels that a quick run keeps, by factor. Levels without any of them are all kept.
    """
    kept = kept or {}
    every = {name: _kept(getattr(factors, name), kept.get(name)) for name in FACTORS}
    named = list(dict.fromkeys(name for table in factors.where for name in table.levels.given()))
    for combination in product(*(every[name] for name in named)):
        at = dict(zip(named, combination, strict=True))
        part = every | {name: (level,) for name, level in at.items()}
        for table in factors.where:
            if table.levels.agrees(at):
                part |= {name: _kept(levels, kept.get(name)) for name, levels in replaced(table).items()}
        yield part


def replaced(table: Factors) -> Crossed:
    """The levels of a table `[[factors.where]]`, by factor."""
    return {name: levels for name in FACTORS if (levels := getattr(table, name)) is not None}


def every_level(factors: Factors) -> Crossed:
    """The levels of the study and of its tables, by factor."""
    tables = [{name: getattr(factors, name) for name in FACTORS}, *map(replaced, factors.where)]
    return {
        name: tuple(dict.fromkeys(level for of in tables for level in of.get(name, ()))) for name in FACTORS
    }


def _kept(levels: tuple[Any, ...], kept: tuple[Any, ...] | None) -> tuple[Any, ...]:
    return tuple(level for level in levels if kept is None or level in kept) or levels
