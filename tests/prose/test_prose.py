"""The checker of the project's English: its rules, its inputs, its exceptions and its exit status."""

from pathlib import Path

import prose
import pytest

RULES = prose.read_rules()


def found(path: Path, text: str, *, long: bool = False) -> list[tuple[str, int, str]]:
    path.write_text(text, encoding="utf-8")
    return [(f.rule, f.line, f.words) for f in prose.check(path, RULES, long=long)]


@pytest.mark.parametrize(
    ("rule", "words", "sentence"),
    [
        ("pronoun", "those that", "It leaves out those that are invalid."),
        ("pronoun", "what it", "A frame has what it requires."),
        ("pronoun", "of which", "There are four stations, of which two send."),
        ("pronoun", "so many", "It has so many lanes."),
        ("pronoun", "as it is", "The header is sent as it is."),
        ("per", "4 s a run", "Each is measured for 4 s a run."),
        ("per", "frames a second", "The rate is 20 frames a second."),
        ("per", "one a line", "The output has names, one a line."),
        ("vocabulary", "is to be", "The frame is to be opened."),
        ("vocabulary", "stands for", "The name stands for a cipher."),
        ("vocabulary", "nothing but", "The air carries nothing but data."),
        ("metaphor", "rooms", "The crates are rooms."),
        ("inverted", "What", "What the station sends is lost."),
    ],
)
def test_prose_rules_find_their_words(tmp_path: Path, rule: str, words: str, sentence: str) -> None:
    assert found(tmp_path / "page.md", f"# Title\n\n{sentence}\n") == [(rule, 3, words)]


@pytest.mark.parametrize(
    "sentence",
    [
        "What is a block? It is one replicate per level.",
        "Results are written as soon as they are available.",
        "The run takes 4 s. A frame is lost.",
        "One frame per second is lost, and one run per line is printed.",
        "See `those that` and `what it`.",
        "[A link](https://example.org/what-it-is).",
    ],
)
def test_other_words_pass(tmp_path: Path, sentence: str) -> None:
    assert found(tmp_path / "page.md", f"{sentence}\n") == []


def test_words_are_found_across_a_line_break(tmp_path: Path) -> None:
    assert found(tmp_path / "page.md", "First line.\nIt drops those\nthat fail.\n") == [
        ("pronoun", 2, "those that")
    ]


def test_code_and_short_table_cells_are_left_out(tmp_path: Path) -> None:
    page = (
        "```\nthose that\n```\n\n    those that\n\n"
        "| name | meaning |\n|---|---|\n| those that | drops all of those that have no key |\n"
    )
    assert found(tmp_path / "page.md", page) == [("pronoun", 9, "those that")]


def test_headings_may_begin_with_what(tmp_path: Path) -> None:
    assert found(tmp_path / "page.md", "# What a report shows\n") == []


def test_doc_comments_of_rust_are_read_and_other_comments_are_not(tmp_path: Path) -> None:
    source = (
        "//! A crate.\n//!\n//! It keeps those that pass.\n\n// those that\n"
        "/// Counts those that fail.\n///\n/// ```\n/// those_that(); // those that\n/// ```\nfn f() {}\n"
    )
    assert [line for _, line, _ in found(tmp_path / "lib.rs", source)] == [3, 6]


def test_docstrings_and_help_texts_of_python_are_read(tmp_path: Path) -> None:
    source = '''"""A module.

It keeps those that pass.
"""

LIMIT = 1
"""Of those that count."""
NAME = "those that"


def f() -> None:
    """Count.

    Leaves out those that fail.
    """
    option(help="Print those that " "fail.", name="those that")
    option(help=f"Print {NAME} of those that fail.")
'''
    assert [line for _, line, _ in found(tmp_path / "module.py", source)] == [3, 7, 14, 16, 17]


def test_an_exception_covers_only_its_words(tmp_path: Path) -> None:
    allowed = prose.Allowed(prose.compiled("of those that send"), None)
    rules = prose.Rules((), 30, 6, RULES.rules, (allowed,))
    path = tmp_path / "page.md"
    path.write_text("The rate of those that send.\n\nThe rate of those that wait.\n")
    assert [finding.line for finding in prose.check(path, rules)] == [3]


def test_every_exception_has_a_reason_and_is_used() -> None:
    for entry in RULES.allowed:
        texts = (path.read_text(encoding="utf-8") for path in prose.checked_files(RULES))
        assert any(entry.text.search(text) for text in texts), entry.text.pattern


def test_long_sentences_are_warnings(tmp_path: Path) -> None:
    text = f"Short. {'word ' * 31}ends.\n"
    assert found(tmp_path / "page.md", text) == []
    assert [rule for rule, _, _ in found(tmp_path / "page.md", text, long=True)] == ["long"]
    assert prose.main([str(tmp_path / "page.md"), "--long"]) == 0


def test_the_exit_status_and_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("All is well.\n")
    assert prose.main([str(page)]) == 0
    assert capsys.readouterr().out == ""
    page.write_text("Those that\nfail.\n")
    assert prose.main([str(page)]) == 1
    assert capsys.readouterr().out.startswith(f"{page}:1: pronoun: 'Those that': ")


def test_findings_are_counted_per_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "target").mkdir()
    for name in ("a.md", "b.rs", "target/c.md", "d.txt"):
        (tmp_path / name).write_text("//! those that\n" if name == "b.rs" else "Those that.\n")
    assert prose.main(["--count", str(tmp_path)]) == 1
    assert capsys.readouterr().out.split()[0] == "2"


def test_a_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        prose.main([str(tmp_path / "none")])
    assert "none does not exist" in capsys.readouterr().err
