"""The imported packages are the declared packages, and light commands import no heavy package."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from airtoll.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python/airtoll"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = {"altair", "jinja2", "numpy", "scipy", "vl_convert"}
CAPTURE = ROOT / "crates/wlan-decrypt/tests/captures/tkip.pcap"


def name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9_-]", requirement)[0].lower().replace("_", "-")


def imported() -> Iterator[str]:
    """The top-level modules that the package imports, its own and the standard library's excepted."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            for name in names:
                top = name.partition(".")[0]
                if top != "airtoll" and top not in sys.stdlib_module_names:
                    yield top
    yield from EXTRAS.values()  # imported by name


def test_imports_and_declarations_are_the_same_packages() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = {name_of(each) for each in PROJECT["dependencies"]}
    declared |= {name_of(each) for name in EXTRAS for each in extras[name]}
    distributions = packages_distributions()
    assert {name_of(distributions[module][0]) for module in imported()} == declared


def test_extra_all_is_the_sum_of_the_extras() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(extras) == {*EXTRAS, "all"}
    assert extras["all"] == [f"airtoll[{','.join(sorted(EXTRAS))}]"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["plan", "quickstart"],
        ["studies"],
        ["doctor"],
        ["run", "--help"],
        ["decrypt", str(CAPTURE), "--psk", "correct-horse", "--out", "plain.pcap"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_light_commands_import_no_heavy_package(arguments: list[str], tmp_path: Path) -> None:
    code = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print('imported:', *sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr))\n"
        "from airtoll.start import main\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "imported:"
