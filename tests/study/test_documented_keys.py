"""Study keys named in the documentation exist, and each metric's documented lab measures it."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from airtoll.study.scenario import Scenario
from airtoll.study.schema import TABLES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
STUDY_FILES = (ROOT / "docs/reference/study-files.md").read_text(encoding="utf-8")


def named(text: str) -> Iterator[tuple[str, str]]:
    """Table and key of references such as `factors.snr` or `[link] offered`."""
    tables = "|".join(table[0] for table in TABLES if len(table) == 1 and table[0] != "stack")
    for table, key in re.findall(rf"`({tables})\.([a-z_]+)[`.]", text):
        if key != "toml":  # `lab.toml` is the name of a file
            yield table, key
    for table, key in re.findall(rf"`\[({tables})\]`? `?([a-z_]+)`", text):
        yield table, key


def section(title: str) -> str:
    return STUDY_FILES.split(f"\n{title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_key_that_a_page_names_is_there(page: Path) -> None:
    for table, key in named(page.read_text(encoding="utf-8")):
        assert key in TABLES[table,].model_fields, f"{table}.{key}"


def test_the_pages_name_keys_at_all() -> None:
    found = {pair for page in PAGES for pair in named(page.read_text(encoding="utf-8"))}
    assert {("factors", key) for key in TABLES["factors",].model_fields} <= found


def test_the_table_of_the_link_has_only_keys() -> None:
    rows = [row.split("|")[1] for row in section("## The table [link]").splitlines() if row.startswith("| `")]
    listed = {key for row in rows for key in re.findall(r"`([a-z0-9_]+)`", row)}
    assert len(listed) > 50
    assert listed <= set(TABLES["link",].model_fields)


def test_the_words_of_a_simulation_are_a_scenario_s() -> None:
    text = (ROOT / "docs/explanation/simulation.md").read_text(encoding="utf-8")
    table = text.split("Beside the factors and `[link]` settings")[1].split("\n\n")[1]
    words = {
        word
        for row in table.splitlines()
        if row.startswith("| `")
        for word in re.findall(r"`([a-z_]+)`", row.split("|")[1])
    }
    assert words
    assert words <= set(Scenario.model_fields)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_studies_in_the_documentation_have_existing_keys(page: Path) -> None:
    for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        if "[factors]" not in block:
            continue
        for table, keys in tomllib.loads(block).items():
            if isinstance(keys, dict) and (table,) in TABLES and table != "stack":
                assert set(keys) <= set(TABLES[table,].model_fields), table
