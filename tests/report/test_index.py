"""The index page of several reports."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from report_fakes import make_plan, store

from airtoll.report import write_index, write_report
from airtoll.store import Result

EVIL = '<img src=x onerror="alert(1)"></h2><script>alert(2)</script>'


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    directory = tmp_path_factory.mktemp("several")
    small = make_plan(repeats=2, sizes=(1408,))
    several = make_plan(repeats=2, sizes=(1408,), levels=("open", "ccmp", "gcmp"))
    return [
        store(directory / "one", small, invalid=lambda _: ()),
        store(directory / "tw o&<", several, invalid=lambda _: (), study_text=f"title = '''{EVIL}'''\n"),
        store(directory / "none", small, finished=lambda _: False),
    ]


@pytest.fixture(scope="module")
def index(results: list[Result]) -> tuple[Path, Tags]:
    for result in results:
        write_report(result, result.directory)
    path = write_index(results, results[0].directory.parent)
    return path, Tags(path.read_text(encoding="utf-8"))


def test_every_link_leads_to_a_report(index: tuple[Path, Tags], results: list[Result]) -> None:
    path, page = index
    targets = [path.parent / unquote(a["href"]) for a in page.all("a")]
    assert targets == [result.directory / "report.html" for result in results]
    assert all(target.is_file() for target in targets)


def test_each_study_has_its_headline_and_a_picture_with_words(index: tuple[Path, Tags]) -> None:
    _, page = index
    assert len(re.findall("CCMP .{2,60}(?:UDP|TCP) throughput", page.text)) >= 2
    assert "None of 16 planned runs is finished" in page.text
    pictures = page.all("img")
    assert len(pictures) == 2
    for picture in pictures:
        assert picture["src"].startswith("data:image/svg+xml;base64,")
        assert "Throughput in Mbit/s against" in picture["alt"]
    assert "Throughput, Mbit/s: TCP" in page.text


def test_titles_are_escaped_and_the_page_loads_no_resource(index: tuple[Path, Tags]) -> None:
    _, page = index
    assert EVIL in page.text
    assert not page.all("script")
    assert not page.all("link")
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert "script-src" not in directives
    assert directives["img-src"] == "data:"


def test_the_index_can_be_in_another_directory(results: list[Result], tmp_path: Path) -> None:
    path = write_index(results, tmp_path / "deep" / "er")
    targets = [path.parent / unquote(a["href"]) for a in Tags(path.read_text(encoding="utf-8")).all("a")]
    assert [target.resolve() for target in targets] == [
        r.directory.resolve() / "report.html" for r in results
    ]
