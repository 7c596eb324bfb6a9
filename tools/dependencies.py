"""Print the package's dependencies and extras, one requirement per line, as declared in pyproject.toml.

pip has no option to install only the dependencies of a package. Make builds the package itself later, without build
isolation.
"""

import tomllib
from pathlib import Path

_PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"

project = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
print(
    *project["dependencies"], *(each for name in extras if name != "all" for each in extras[name]), sep="\n"
)
