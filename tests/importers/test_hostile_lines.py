"""No line of a foreign file or of a tool's output takes long to match."""

import importlib
import itertools
import pkgutil
import re
import time
from collections.abc import Iterator

import pytest
from recorded_files import RECORDED

from airtoll import probes
from airtoll.probes import ping
from airtoll.probes.window import Window
from airtoll.store import importers
from airtoll.store.importers.files import MOST_CHARACTERS, Document
from airtoll.store.importers.formats import format_of
from airtoll.store.importers.reading import Asked

LINES = [
    line
    for file in sorted(RECORDED.glob("*/*"))
    if file.is_file()
    for line in file.read_text(errors="replace").splitlines()[:100]
]
PIECES = (
    *" 1.:a,=-([",
    *(":a", "a:", "1 ", "a ", "1.", ": ", "::1 ", "=:", "1:", ", ", "1/", "(:", "(.", "a=", " ,", "1a "),
    *("1.1.1.1 ", "1 a, ", "[ 1", "[1] ", "ttl=1 "),
)
ENDS = ("!", "=", "=1 ms")
CUTS = 8
MOST_S = 0.1
"""CPU time per line. The slowest pattern takes some 3 ms, one of quadratic time seconds for the longest line."""


def patterns() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    """The patterns of the modules that read what others wrote, with their names."""
    for package in (importers, probes):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, re.Pattern):
                    yield f"{module.name.removeprefix('airtoll.')}.{name}", value


PATTERNS = dict(patterns())


def cpu_s(pattern: re.Pattern[str] | re.Pattern[bytes], text: str) -> float:
    began = time.process_time()
    find = pattern.match if str(pattern.pattern).startswith(("^", r"\s*")) else pattern.search
    find(text.encode() if isinstance(pattern.pattern, bytes) else text)  # type: ignore[arg-type]
    return time.process_time() - began


def hostile(pattern: re.Pattern[str] | re.Pattern[bytes], length: int) -> Iterator[str]:
    """Lines that begin as a recorded line that matches and then repeat a piece of text."""
    as_text = isinstance(pattern.pattern, str)
    like = next((line for line in LINES if as_text and pattern.search(line)), "")  # type: ignore[arg-type]
    cuts = [found.start() for found in re.finditer(r"\b|$", like)]
    begins = dict.fromkeys(["", "= ", *(like[:cut] for cut in cuts[1 :: len(cuts) // CUTS + 1])])
    for begin, piece, end in itertools.product(begins, PIECES, ENDS):
        yield (begin + piece * length)[: length - len(end)] + end


@pytest.mark.parametrize("name", PATTERNS)
def test_a_hostile_line_takes_little_time(name: str) -> None:
    pattern = PATTERNS[name]
    is_of_ping = name.startswith(("probes.ping.", "store.importers.ping."))
    for line in hostile(pattern, ping.LONGEST if is_of_ping else MOST_CHARACTERS):
        took_s = cpu_s(pattern, line)
        assert took_s < MOST_S or cpu_s(pattern, line) < MOST_S, line[:80]


@pytest.mark.parametrize("long", ["1 aaa, 1 aa," + " " * 16_000 + "=", ":a" * 8_000 + "="])
def test_a_long_line_in_the_output_of_ping_takes_little_time(long: str) -> None:
    lines = ["64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=1.5 ms", *[long] * 3, "1 sent, 1 received", ""]
    text = "\n".join(lines)
    began = time.process_time()
    (reading,) = format_of(Document("open.txt", text)).read(Document("open.txt", text), Asked())
    (sample,) = ping.parse(text, 1.0, Window(0.0, 1.0))
    assert time.process_time() - began < 1
    assert [each.value for each in reading.measurements["rtt"].samples] == [sample.value] == [1.5]
