"""The sub-packages of airtoll.report import one way, in the order of its flow."""

import re
from pathlib import Path

from airtoll import report

FLOW = ("material", "charts", "parts", "pages")


def test_each_sub_package_imports_only_itself_and_earlier_ones() -> None:
    root = Path(report.__file__).parent
    assert {path.parent.name for path in root.glob("*/__init__.py")} == set(FLOW)
    for place, package in enumerate(FLOW):
        for path in (root / package).glob("*.py"):
            imported = set(re.findall(r"airtoll\.report\.([a-z]+)", path.read_text(encoding="utf-8")))
            assert imported <= set(FLOW[: place + 1]), path
