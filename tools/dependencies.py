"""Prints what the installed package needs, one requirement per line, as pyproject.toml declares it.

pip has no option that installs the dependencies of a package without the package, which Make builds later and without
build isolation.
"""

import tomllib
from pathlib import Path

_PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"

print(*tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"], sep="\n")
