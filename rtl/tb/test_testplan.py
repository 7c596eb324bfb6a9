"""doc/testplan.toml lists every test, and every listed test exists."""

import ast
import tomllib
from pathlib import Path

from configurations import SIMULATIONS
from runner import RTL, TB, sources


def cocotb_tests() -> set[str]:
    """All cocotb tests, as `<folder>.<test>`."""
    return {f"{file.parent.name}.{test}" for file in TB.glob("*/test_*.py") for test in cocotb_tests_of(file)}


def cocotb_tests_of(file: Path) -> list[str]:
    """The cocotb tests of a module; modules of pytest have none."""
    return [
        node.name
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.AsyncFunctionDef)
        and any("cocotb.test" in ast.unparse(by) for by in node.decorator_list)
    ]


def other_tests() -> set[str]:
    """The tests of pytest, as `<folder>.<test>`: functions, and the names of proofs."""
    names = set()
    for folder in ("formal", "lint", "power", "tb/gate_level"):
        for file in (RTL / folder).glob("test_*.py"):
            tree = ast.parse(file.read_text())
            called = {
                node.name
                for node in tree.body
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
            }
            proofs = {
                node.args[0].value
                for node in ast.walk(tree)
                if isinstance(node, ast.Call)
                and ast.unparse(node.func) == "Proof"
                and isinstance(node.args[0], ast.Constant)
            }
            names |= {f"{file.parent.name}.{name}" for name in called - {"test_proof"} | proofs}
    return names


def plan() -> list[dict[str, str | list[str]]]:
    """The points of the test plan."""
    return tomllib.loads((RTL / "doc" / "testplan.toml").read_text())["point"]


def test_each_point_has_tests_and_each_test_a_point() -> None:
    named = [test for point in plan() for test in point["tests"]]
    assert all(point["tests"] for point in plan())
    there = cocotb_tests() | other_tests()
    assert set(named) == there, (
        f"not found: {sorted(set(named) - there)}, not in the plan: {sorted(there - set(named))}"
    )


def test_each_module_has_a_point() -> None:
    modules = {point["module"] for point in plan() if "module" in point}
    assert modules == {file.stem for file in sources()}


def test_each_test_module_is_simulated() -> None:
    simulated = {module for each in SIMULATIONS for module in (each.modules or f"test_{each.top}").split(",")}
    assert simulated == {file.stem for file in TB.glob("*/test_*.py") if cocotb_tests_of(file)}
