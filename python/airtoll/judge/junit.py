"""Rules as test cases in JUnit's XML, which CI systems read."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence

from airtoll.judge.gate import AnyRuleOutcome

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent (2.2)."""


def junit(outcomes: Sequence[AnyRuleOutcome], suite: str, sentence: Callable[[AnyRuleOutcome], str]) -> bytes:
    """One test case per rule: a failed rule has a failure, an undecided rule that passes is skipped.

    `sentence` describes the outcome of a rule.
    """
    missed = sum(not outcome.passed for outcome in outcomes)
    undecided = sum(outcome.passed and outcome.state == "undecided" for outcome in outcomes)
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(missed),
        "errors": "0",
        "skipped": str(undecided),
    }
    root = ET.Element("testsuites", {"name": "airtoll gate", **counts})
    of_suite = ET.SubElement(root, "testsuite", {"name": _text(suite), **counts})
    for outcome in outcomes:
        case = ET.SubElement(
            of_suite, "testcase", {"classname": _text(suite), "name": _text(outcome.rule.text)}
        )
        words = _text(sentence(outcome))
        if not outcome.passed:
            ET.SubElement(case, "failure", {"message": words, "type": outcome.state})
        elif outcome.state == "undecided":
            ET.SubElement(case, "skipped", {"message": words})
        else:
            ET.SubElement(case, "system-out").text = words
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _text(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
