"""The documentation's pages, with their fenced blocks and links, for the tests."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import reference_pages

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (
    ROOT / "README.md",
    *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "rtl").rglob("*.md")),
    *sorted((ROOT / "benches").rglob("*.md")),
)
"""Every stored page, including the README."""


@dataclass(frozen=True)
class Fence:
    """A fenced block: language, file name (`title="..."`) if present, text and line."""

    language: str
    title: str | None
    text: str
    line: int


def name_of(page: Path) -> str:
    """The page's path in the repository, for the names of tests."""
    return page.relative_to(ROOT).as_posix()


@cache
def text_of(page: Path) -> str:
    """The Markdown of a page, stored or generated."""
    generated: Mapping[Path, str] = {DOCS / path: text for path, text in reference_pages.pages().items()}
    return generated[page] if page in generated else page.read_text(encoding="utf-8")


@cache
def generated() -> frozenset[Path]:
    """The paths at which the generated pages would be stored."""
    return frozenset(DOCS / path for path in reference_pages.pages())


_FENCE = re.compile(r"^```(\w*)([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def fences(page: Path) -> Iterator[Fence]:
    """The fenced blocks of a page, in order."""
    text = text_of(page)
    for found in _FENCE.finditer(text):
        title = re.search(r'title="([^"]+)"', found[2])
        line = text.count("\n", 0, found.start()) + 1
        yield Fence(found[1], title and title[1], found[3], line)


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", text_of(page))


def anchors(page: Path) -> set[str]:
    """The anchors of the page's headings, as Python-Markdown and GitHub make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in headings)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) for text in plain}
