"""Each public class and each alias of a type has one meaning in the whole package."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python/airtoll"
SAME = {"Operation"}
"""The same two words in packages that do not import each other."""


def declared(path: Path) -> Iterator[str]:
    """The names of public types that a module declares: classes, and aliases in CamelCase."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name):
                found = [name]
            case ast.Assign(targets=targets):
                found = [target.id for target in targets if isinstance(target, ast.Name)]
            case _:
                continue
        yield from (name for name in found if name[0].isupper() and not name.isupper())


def test_public_types_have_names_of_their_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in declared(path):
            places[name].append(str(path.relative_to(PACKAGE)))
    assert len(places) > 200
    assert {name: where for name, where in places.items() if len(where) > 1 and name not in SAME} == {}
