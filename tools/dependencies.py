"""Print the package's dependencies, one requirement per line, as declared in pyproject.toml.

pip has no option to install only the dependencies of a package. Make builds the package itself later, without build
isolation.
"""

import tomllib
from pathlib import Path

_PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"

print(*tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"], sep="\n")
