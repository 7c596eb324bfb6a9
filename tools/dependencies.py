"""Print the package's dependencies and extras, one requirement per line, as declared in pyproject.toml.

pip has no option to install only the dependencies of a package. Make builds the package itself later, without build
isolation.

With names of dependency groups as arguments, print one line that names the missing packages of these groups, which pip
is about to install into the environment of this interpreter. The group `dev` includes the dependencies and extras.
Print nothing if no package is missing.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def _missing(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in requirements:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        try:
            version(name)
        except PackageNotFoundError:
            yield name


def main(groups: list[str]) -> None:
    """Print the dependencies and extras, or the line about these groups."""
    declared = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))
    project = declared["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    dependencies = [
        *project["dependencies"],
        *(each for name, requirements in extras.items() if name != "all" for each in requirements),
    ]
    if not groups:
        print(*dependencies, sep="\n")
        return
    wanted = [requirement for group in groups for requirement in declared["dependency-groups"][group]]
    if missing := sorted(set(_missing([*wanted, *(dependencies if "dev" in groups else ())]))):
        count = f"{len(missing)} Python package{'s' if len(missing) > 1 else ''}"
        print(f"installing {count} and their dependencies into {Path(sys.prefix).name}: {' '.join(missing)}")


if __name__ == "__main__":
    main(sys.argv[1:])
