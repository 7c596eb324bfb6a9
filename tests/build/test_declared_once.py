"""A PHY, a cipher suite and a key management are each declared once, as a record that other code asks.

CONTRIBUTING.md names the files. A file that names one of the examples below declares a fact a second time.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from airtoll import _rust

TOP = Path(__file__).resolve().parents[2]

PHY = {
    "crates/wlan-air/src/phy/mod.rs",
    "crates/wlan-air/src/phy/vht.rs",
}
FORMAT = {
    "crates/airtoll-agent/src/agent/nl80211.rs",
    "crates/wlan-air/src/phy/values.rs",
    "crates/wlan-bss/src/elements.rs",
    "crates/wlan-emulator/src/bss/beacon.rs",
    "crates/wlan-emulator/src/capture.rs",
    "crates/wlan-emulator/src/hwsim/frame.rs",
    "crates/wlan-frames/src/radiotap.rs",
}
"""Files that describe the format of VHT frames. A PHY with the same format has no part in them."""

SUITE = {
    "crates/wlan-ciphers/src/suite.rs",
    "crates/wlan-scenario/src/scenario/sealing.rs",
}
AKM = {"crates/wlan-rsn/src/suites.rs"}

NOT_A_FACT = re.compile(r"//[^\n]*|NON_VHT_MPDU_MAX_B|VHT_MPDU_LENS_B")
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{", re.MULTILINE)


def sources() -> Iterator[tuple[str, str]]:
    """The code of each file of the product, without comments, docstrings and tests."""
    for path in TOP.glob("crates/*/src/**/*.rs"):
        if "tests" in path.parts or re.search(r"(tests|vectors|testing)\.rs$", path.name):
            continue
        code, *_ = TESTS.split(path.read_text(encoding="utf-8"))
        yield path.relative_to(TOP).as_posix(), NOT_A_FACT.sub("", code)
    for path in TOP.glob("python/**/*.py"):
        yield path.relative_to(TOP).as_posix(), ast.unparse(without_docstrings(path))


def without_docstrings(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(node, name, None), list):
                setattr(node, name, [each for each in block if not is_docstring(each)] or [ast.Pass()])
    return tree


def is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@pytest.mark.parametrize(
    ("example", "declared"),
    [
        ("vht", PHY | FORMAT),
        ("ccmp[-_]?256", SUITE),
        ("sae[-_]?ext[-_]?key", AKM),
    ],
)
def test_only_the_declaration_names_its_example(example: str, declared: set[str]) -> None:
    naming = {name for name, code in sources() if re.search(example, code, re.IGNORECASE)}
    assert naming == declared


def test_a_phy_takes_four_files_and_a_suite_five() -> None:
    assert len(PHY) <= 4
    assert len(SUITE) <= 5


def names() -> set[str]:
    """The names of PHYs, of suites except `open`, which protects nothing, and of key managements."""
    phys, suites = {phy.word for phy in _rust.phys()}, {suite.word for suite in _rust.suites()}
    return phys | suites - {"open"} | {akm.word for akm in _rust.akms()}


def compared(tree: ast.Module) -> Iterator[str]:
    """The strings that code compares with, or that it expects at the start of a string, except exchanges of keys."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            if "exchange" not in ast.unparse(node):
                for operand in (node.left, *node.comparators):
                    literals = (
                        operand.elts if isinstance(operand, ast.Tuple | ast.List | ast.Set) else [operand]
                    )
                    yield from (str(each.value) for each in literals if isinstance(each, ast.Constant))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".startswith", ".removeprefix")):
            yield from (str(each.value) for each in node.args if isinstance(each, ast.Constant))


def test_no_python_code_compares_the_name_of_a_phy_a_suite_or_a_key_management() -> None:
    prefixes = {name.rstrip("0123456789") for name in names()} | names()
    for path in TOP.glob("python/**/*.py"):
        found = set(compared(without_docstrings(path))) & prefixes
        assert not found, f"{path.relative_to(TOP)} compares {found}; ask the record"


def test_no_rust_code_compares_the_name_of_a_phy_a_suite_or_a_key_management() -> None:
    comparing = re.compile(r"(?:\.name\(\)|\.word)\s*(?:[!=]=\s*\"|\.(?:starts|ends)_with)")
    assert not [name for name, code in sources() if name.endswith(".rs") and comparing.search(code)]
