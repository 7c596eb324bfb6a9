"""The colours of the style sheet."""

import re
from collections.abc import Iterable
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

_STYLE: Final = Path(__file__).parent / "templates" / "report.css"
_COLOUR: Final = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]+);")
_OTHERS: Final = 6


@cache
def colours() -> dict[str, str]:
    """The page's print colours by name: the last definition of each colour in the style sheet."""
    return dict(_COLOUR.findall(_STYLE.read_text(encoding="utf-8")))


def colour_names(levels: Iterable[str]) -> list[str]:
    """The names of the levels' colours. Most ciphers have a colour of their own; other levels share a few."""
    others = (f"other{number % _OTHERS + 1}" for number in count())
    return [level if f"level-{level}" in colours() else next(others) for level in levels]
