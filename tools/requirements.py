"""Print the requirements of a group of Python packages, one per line, as declared in pyproject.toml.

usage: python tools/requirements.py GROUP [--missing]

A group is `build`, which is what a first run requires (the build system and the dependencies of the package), or one of
the dependency groups. `dev` also has the extras of the package. With `--missing`, print one line that names the
packages which pip is about to install into the environment of this interpreter, or nothing if it has all of them.
"""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def requirements(group: str) -> list[str]:
    """The requirements of a group."""
    declared = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))
    project = declared["project"]
    if group == "build":
        return [*declared["build-system"]["requires"], *project["dependencies"]]
    found: list[str] = list(declared["dependency-groups"][group])
    if group == "dev":
        extras: dict[str, list[str]] = project["optional-dependencies"]
        found += [each for name, extra in extras.items() if name != "all" for each in extra]
    return found


def _is_missing(requirement: str) -> bool:
    try:
        version(_name(requirement))
    except PackageNotFoundError:
        return True
    return False


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def main(group: str, *options: str) -> None:
    """Print the requirements, or the line about the missing ones."""
    if options != ("--missing",):
        print(*requirements(group), sep="\n")
        return
    if missing := sorted({_name(each) for each in requirements(group) if _is_missing(each)}):
        count = f"{len(missing)} Python package{'s' if len(missing) > 1 else ''}"
        print(f"installing {count} and their dependencies into {Path(sys.prefix).name}: {' '.join(missing)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
