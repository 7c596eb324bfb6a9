"""A key that Rust declares reaches studies, schema, options, pages and errors without any further line of Python."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from airtoll.cli.scenario import simulate_scenario
from airtoll.study import LinkSettings, Scenario, WordError, json_schema, read_scenario
from airtoll.study.contract import KEYS, keys_of
from airtoll.study.link import Stack
from airtoll.study.schema import TABLES

ROOT = Path(__file__).resolve().parents[2]
WITH_A_TOY = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from airtoll import _rust

declared = _rust.scenario_keys()
values = SimpleNamespace(kind="quantity", words=[], bounds=(0, 0), of="FRAME_TIME", parameters=[])
toy = SimpleNamespace(
    name="toy_time", json=["toy_time_us"], table="medium", values=values, initial=None, text="Time of the toy in us.",
    panel="Access", labs=["air"], set_by=None, crypto_at=None,
)
_rust.scenario_keys = lambda: [*declared, toy]

sys.path.insert(0, "tools")
import reference_pages
from airtoll.labs.air import Air
from airtoll.labs.linux import Linux
from airtoll.study import Cell, LinkSettings, json_schema
from airtoll.study.scenario import WordError, read_scenario
from airtoll.sweep.grid import load_grid

def error(call):
    try:
        return call()
    except ValueError as refusal:
        return str(refusal)

definitions = json_schema()["$defs"]
scenario = read_scenario({"toy_time": "5 ms"})
levels = {"topology": "point-to-point", "phy": "ofdm", "bandwidth": 20, "gi": "long", "rate": "54 Mbit/s"}
traffic = {"transport": "udp", "ip": "ipv4", "packet_size": 1408, "security": "open"}
cell = Cell(lab="air", **levels, **traffic)
grid = Path(sys.argv[1])
grid.write_text("toy_time = [1, 2]")
print(json.dumps({
    "tables": [name for name, table in definitions.items() if "toy_time" in table.get("properties", ())],
    "schema": definitions["LinkSettings"]["properties"]["toy_time"]["description"],
    "keys": reference_pages.study_keys(), "options": reference_pages.command_line(),
    "wire": scenario.wire(), "medium": error(lambda: _rust.check_scenario(scenario.to_json())),
    "value": error(lambda: read_scenario({"toy_time": "5 km"})),
    "misspelt": error(lambda: read_scenario({"toy_tiem": 5})),
    "air": Air(LinkSettings(toy_time=5)).check(cell),
    "linux": Linux(LinkSettings(toy_time=5)).check(cell),
    "cells": [json.loads(cell)["toy_time_us"] for cell in load_grid(grid, lambda _: None).cells],
}))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    # The tables derive from the declarations when the package is imported, so this takes a process of its own.
    command = [sys.executable, "-c", WITH_A_TOY, str(tmp_path_factory.mktemp("toy") / "grid.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def test_the_toy_is_a_key_of_studies_and_of_their_reference(told: dict[str, object]) -> None:
    assert told["tables"] == ["LinkSettings", "LinkWhere"]
    assert told["schema"] == "Time of the toy in us."
    row = "| `toy_time` | number from 0 to 1000000 or text with a unit: `us`, `ms` | unset | Time of the toy in us. |"
    assert str(told["keys"]).count(row) == 2
    assert str(told["options"]).count("| `--toy-time US` |  | Time of the toy in us. |") == 2


def test_scenarios_and_sweeps_have_the_toy(told: dict[str, object]) -> None:
    wire = told["wire"]
    assert isinstance(wire, dict)
    assert wire["toy_time_us"] == 5000
    assert told["cells"] == [1, 2]


def test_errors_name_the_toy(told: dict[str, object]) -> None:
    assert str(told["value"]).startswith("toy_time: '5 km' has the wrong unit; give a string in us or ms")
    assert told["misspelt"] == "toy_tiem: unknown key; did you mean 'toy_time'?"
    assert told["linux"] == "link.toy_time: lab linux cannot set it"
    # Only the struct that applies the key is missing.
    for refusal in (told["air"], told["medium"]):
        assert str(refusal).startswith("scenario: unknown field `toy_time_us`, expected one of ")


@pytest.mark.parametrize("name", KEYS)
def test_every_key_has_its_tables_option_and_error(name: str) -> None:
    declared = KEYS[name]
    options = {option.name for option in simulate_scenario.params}
    assert (name in options) == (declared.table != "real hosts")
    of_link = declared.table in ("real hosts", "hosts", "medium")
    assert (name in TABLES["link",].model_fields) == of_link
    assert (name in TABLES["link", "where"].model_fields) == of_link
    assert (name in TABLES["stack", "NAME"].model_fields) == (declared.table in ("real hosts", "hosts"))
    if of_link:
        assert json_schema()["$defs"]["LinkSettings"]["properties"][name]["description"] == declared.text
    if name in options:
        with pytest.raises(WordError, match=f"^{name}_: unknown key; did you mean '{name}'"):
            read_scenario({f"{name}_": 1})


def test_factors_of_scenarios_have_a_place_in_the_json() -> None:
    assert keys_of("factors") == tuple(name for name, of in KEYS.items() if of.values.kind == "factor")


def attributes(path: Path) -> Iterator[tuple[str, str]]:
    """The attributes of arguments with keys of the contract, which mypy does not know: class and attribute."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef):
            every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            classes = {
                each.arg: ast.unparse(each.annotation) for each in every if each.annotation is not None
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    yield classes.get(node.value.id, "").removesuffix(" | None"), node.attr


def test_code_reads_only_keys_that_exist() -> None:
    models = {model.__name__: model for model in (LinkSettings, Scenario, Stack)}
    package = ROOT / "python" / "airtoll"
    read = {found for path in package.rglob("*.py") for found in attributes(path) if found[0] in models}
    assert ("LinkSettings", "window") in read
    for name, attribute in read:
        assert attribute in models[name].model_fields or hasattr(models[name], attribute), (
            f"{name}.{attribute}"
        )
