"""The published JSON Schema is the models' schema, and accepts the same files as the loader."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airtoll.errors import UsageError
from airtoll.study import expand, json_schema, load_study, schema_text, shipped_studies

jsonschema = pytest.importorskip("jsonschema")

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "reference" / "study.schema.json"


def table(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def valid(raw: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft202012Validator(json_schema()).is_valid(raw))


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for model in (schema, *schema["$defs"].values()):
        for name, value in model["properties"].items():
            target = schema["$defs"][value["$ref"].rsplit("/", 1)[1]] if "$ref" in value else {}
            yield name, {**target, **value}


def test_the_published_schema_is_that_of_the_models() -> None:
    assert PUBLISHED.read_text() == schema_text(), (
        "regenerate it: see the docstring of airtoll/study/schema.py"
    )


def test_the_schema_is_a_schema_and_never_speaks_of_null() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))
    assert "null" not in schema_text()  # TOML has none


def test_every_key_is_described_and_every_quantity_with_its_unit() -> None:
    units = {
        "duration": "second",
        "warmup": "second",
        "packet_size": "byte",
        "bandwidth": "MHz",
        "rate": "Mbit/s",
    }
    for name, schema in properties(json_schema()):
        assert schema["description"].endswith(".")
        assert units.get(name, "") in schema["description"]


@pytest.mark.parametrize("path", shipped_studies(), ids=lambda path: path.stem)
def test_shipped_studies_suit_schema_and_loader(path: Path) -> None:
    raw = table(path.read_text())
    jsonschema.validate(raw, json_schema())
    study = load_study(path)
    assert expand(study).runs
    assert expand(study, quick=True).runs
    assert path.read_text().startswith("#:schema ../docs/reference/study.schema.json\n")


GOOD = {
    "title": "t",
    "factors": {
        "security": ["open"],
        "transport": ["udp"],
        "ip": ["ipv4"],
        "packet_size": ["128 B"],
        "phy": ["ofdm"],
        "rate": ["54 Mbit/s"],
    },
    "method": {"repeats": 1, "duration": "1 s"},
}


@pytest.mark.parametrize(
    ("where", "value", "right"),
    [
        ("method.duration", 1.5, True),
        ("method.duration", "1.5 s", True),
        ("method.duration", "500ms", True),
        ("method.duration", "2 m", False),
        ("method.duration", "-2 s", False),
        ("method.duration", 0, False),
        ("method.duration", True, False),
        ("method.warmup", 0, True),
        ("method.repeats", 0, False),
        ("method.repeats", "3", False),
        ("method.seed", 2**53, False),
        ("factors.packet_size", [128, "1408 B"], True),
        ("factors.packet_size", ["128 kB"], False),
        ("factors.packet_size", [15], False),
        ("factors.packet_size", [1473], False),
        ("factors.packet_size", [128.5], False),
        ("factors.packet_size", [], False),
        ("factors.packet_size", [128, 128], False),
        ("factors.packet_size", 128, False),
        ("factors.rate", [54, "6 Mbit/s"], True),
        ("factors.rate", ["55 Mbit/s"], False),
        ("factors.rate", ["mcs32"], False),
        ("factors.bandwidth", ["20 MHz"], True),
        ("factors.bandwidth", [20], True),
        ("factors.bandwidth", ["60 MHz"], False),
        ("factors.security", ["WPA2"], False),
        ("factors.unknown", ["x"], False),
        ("method.unknown", 1, False),
        ("quick", {}, True),
        ("quick", {"factors": {"packet_size": [128]}, "duration": "0.5 s"}, True),
        ("quick", {"seed": 2}, False),
        ("lab", "Air!", False),
        ("title", "", False),
    ],
)
def test_schema_and_loader_agree(tmp_path: Path, where: str, value: object, right: bool) -> None:
    raw = json.loads(json.dumps(GOOD))
    *tables, key = where.split(".")
    inner = raw
    for name in tables:
        inner = inner[name]
    inner[key] = value
    assert valid(raw) is right

    # JSON values other than tables are TOML values too.
    lines = [f"{k} = {json.dumps(v)}" for k, v in raw.items() if not isinstance(v, dict)]
    for name, content in raw.items():
        if isinstance(content, dict):
            lines += [f"[{name}]"] + [
                f"{k} = {json.dumps(v)}" for k, v in content.items() if not isinstance(v, dict)
            ]
            for sub, levels in content.items():
                if isinstance(levels, dict):
                    lines += [f"[{name}.{sub}]"] + [f"{k} = {json.dumps(v)}" for k, v in levels.items()]
    path = tmp_path / "study.toml"
    path.write_text("\n".join(lines))
    if right:
        load_study(path)
    else:
        with pytest.raises(UsageError):
            load_study(path)
