#!/usr/bin/env python3
"""Check the English of pages, doc comments, docstrings and help texts against the rules in tools/prose.toml.

    tools/prose.py                      the files that tools/prose.toml lists as checked, as in `make lint`
    tools/prose.py PATH ...             these files and directories
    tools/prose.py --count PATH ...     the number of findings per directory
    tools/prose.py --long               sentences that are too long as well, as warnings

Directories are searched for Markdown, Rust (doc comments) and Python (docstrings, help texts). Code, link targets
and short table cells are not checked. The exit status is 1 if there are findings, 0 if there are only warnings.
The rules find patterns that are hard to read; they do not prove that a sentence is good.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "tools" / "prose.toml"
HELP_KEYWORDS = frozenset({"help", "short_help", "epilog", "description"})
"""Keyword arguments of any call whose text a user reads."""
CODE = "_"
"""Placeholder for inline code, so that a sentence keeps its form."""
SENTENCE_END = re.compile(r"[.!?](?:\s+|$)")

_MARKDOWN = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Passage:
    """A paragraph, list item, heading or table cell; `line` is the number of its first line, from 1."""

    line: int
    text: str
    heading: bool = False
    cell: bool = False


@dataclass(frozen=True)
class Finding:
    """A match of a rule. Warnings do not change the exit status."""

    path: Path
    line: int
    rule: str
    words: str
    message: str
    warning: bool = False

    def __str__(self) -> str:
        kind = "warning: " if self.warning else ""
        return f"{self.path}:{self.line}: {kind}{self.rule}: {self.words!r}: {self.message}"


@dataclass(frozen=True)
class Rule:
    """Patterns with one message. Statement patterns are matched at the start of every sentence except questions."""

    name: str
    message: str
    patterns: tuple[re.Pattern[str], ...]
    statement_patterns: tuple[re.Pattern[str], ...]


@dataclass(frozen=True)
class Allowed:
    """Words that may stay, in every file or only in the file at `path`."""

    text: re.Pattern[str]
    path: str | None

    def covers(self, path: str, passage: str, start: int, end: int) -> bool:
        """Whether the match at these positions of the passage is part of the allowed words."""
        if self.path not in (None, path):
            return False
        return any(found.start() <= start and end <= found.end() for found in self.text.finditer(passage))


@dataclass(frozen=True)
class Rules:
    """The content of prose.toml."""

    checked: tuple[str, ...]
    longest_sentence: int
    shortest_cell: int
    rules: tuple[Rule, ...]
    allowed: tuple[Allowed, ...]


def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled pattern, case-insensitive; a space also matches a line break."""
    spaced = pattern.replace("[ ]", r"\s+") if pattern.startswith("(?x)") else pattern.replace(" ", r"\s+")
    return re.compile(spaced, re.IGNORECASE)


def read_rules(path: Path = RULES) -> Rules:
    """Read prose.toml. KeyError or tomllib.TOMLDecodeError if it is not valid."""
    written: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    rules = tuple(
        Rule(
            name,
            rule["message"],
            tuple(map(compiled, rule.get("patterns", ()))),
            tuple(map(compiled, rule.get("statement_patterns", ()))),
        )
        for name, rule in written["rules"].items()
    )
    allowed = tuple(
        Allowed(compiled(re.escape(entry["text"]).replace(r"\ ", " ")), entry.get("path"))
        for entry in written.get("allow", ())
        if entry["why"]
    )
    return Rules(
        tuple(written["checked"]), written["longest_sentence"], written["shortest_cell"], rules, allowed
    )


def markdown_passages(text: str, first_line: int = 1) -> Iterator[Passage]:
    """The prose of Markdown, without code blocks and HTML."""
    inside, line = "", first_line
    for token in _MARKDOWN.parse(text):
        if token.map is not None:
            line = first_line + token.map[0]
        if token.type.endswith("_open"):
            inside = token.type
        if token.type == "inline":
            yield Passage(
                line, _words(token.children or ()), inside == "heading_open", inside in ("td_open", "th_open")
            )


def _words(children: Iterable[Token]) -> str:
    parts = []
    for child in children:
        if child.type in ("text", "image"):
            parts.append(child.content)
        elif child.type == "code_inline":
            parts.append(CODE)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
    return "".join(parts)


def rust_passages(source: str) -> Iterator[Passage]:
    """The prose of doc comments: consecutive lines of `///` or `//!` are one text."""
    lines: list[str] = []
    first = 0
    for number, line in enumerate([*source.splitlines(), ""], start=1):
        found = re.match(r"\s*//(?:/(?!/)|!) ?(.*)", line)
        if found:
            first = first if lines else number
            lines.append(found[1])
        elif lines:
            yield from markdown_passages("\n".join(lines), first)
            lines = []


def python_passages(source: str) -> Iterator[Passage]:
    """The prose of docstrings, of strings below attributes, and of help texts."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) or (isinstance(node, ast.keyword) and node.arg in HELP_KEYWORDS):
            yield from _string_passages(node.value)


def _string_passages(node: ast.expr) -> Iterator[Passage]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else CODE for part in node.values)
    else:
        return
    lines = text.expandtabs().split("\n")
    indents = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(indents, default=0)
    dedented = [lines[0].lstrip(), *(line[margin:] for line in lines[1:])]
    yield from markdown_passages("\n".join(dedented), node.lineno)


READERS: Mapping[str, Callable[[str], Iterator[Passage]]] = {
    ".md": markdown_passages,
    ".rs": rust_passages,
    ".py": python_passages,
}


def sources(paths: Iterable[Path]) -> Iterator[Path]:
    """The files to check, in order; files in `target`, `build` and hidden directories are skipped."""
    for path in paths:
        if path.is_file():
            yield path
            continue
        if not path.is_dir():
            raise FileNotFoundError(f"{path} does not exist")
        for file in sorted(path.rglob("*")):
            parts = file.relative_to(path).parts
            if file.suffix in READERS and not any(
                p in ("target", "build") or p.startswith(".") for p in parts
            ):
                yield file


def checked_files(rules: Rules) -> list[Path]:
    """The files that `make lint` checks: those of the patterns, except what a build has put into `target`."""
    found = {path for pattern in rules.checked for path in ROOT.glob(pattern)}
    return sorted(path for path in found if "target" not in path.relative_to(ROOT).parts)


def check(path: Path, rules: Rules, *, long: bool = False) -> Iterator[Finding]:
    """The findings of a file, in the order of its lines."""
    name = path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else path
    findings = [
        finding
        for passage in READERS[path.suffix](path.read_text(encoding="utf-8"))
        if not (passage.cell and len(passage.text.split()) < rules.shortest_cell)
        for finding in _of_passage(name, passage, rules, long)
    ]
    yield from sorted(findings, key=lambda finding: finding.line)


def _of_passage(path: Path, passage: Passage, rules: Rules, long: bool) -> Iterator[Finding]:
    def line_at(position: int) -> int:
        return passage.line + passage.text.count("\n", 0, position)

    matches = [(rule, found.span()) for rule in rules.rules for found in _matches(rule, passage)]
    for rule, (start, end) in matches:
        if not any(entry.covers(path.as_posix(), passage.text, start, end) for entry in rules.allowed):
            words = " ".join(passage.text[start:end].split())
            yield Finding(path, line_at(start), rule.name, words, rule.message)
    if long and not passage.cell:
        for start, sentence in sentences(passage.text):
            count = sum(any(map(str.isalnum, word)) for word in sentence.split())
            if count > rules.longest_sentence:
                opening = " ".join(sentence.split()[:5])
                message = f"{count} words (at most {rules.longest_sentence})"
                yield Finding(path, line_at(start), "long", f"{opening} ...", message, warning=True)


def _matches(rule: Rule, passage: Passage) -> Iterator[re.Match[str]]:
    for pattern in rule.patterns:
        yield from pattern.finditer(passage.text)
    if passage.heading or passage.cell:
        return
    for start, sentence in sentences(passage.text):
        if not sentence.rstrip().endswith(("?", ":")):
            starts = (pattern.match(passage.text, start) for pattern in rule.statement_patterns)
            yield from (found for found in starts if found is not None)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Each sentence with its position."""
    start = 0
    for end in SENTENCE_END.finditer(text):
        yield start, text[start : end.start() + 1]
        start = end.end()
    if text[start:].strip():
        yield start, text[start:]


def directory(path: Path) -> str:
    """The directory under which --count lists a file: two levels deep, three in the Python package."""
    depth = 3 if path.parts[:2] == ("python", "airtoll") else 2
    return "/".join(path.parent.parts[:depth]) or "."


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings and return the exit status."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and directories to check")
    parser.add_argument("--count", action="store_true", help="print the number of findings per directory")
    parser.add_argument("--long", action="store_true", help="also warn about long sentences")
    given = parser.parse_args(arguments)
    rules = read_rules()
    paths = given.paths or checked_files(rules)
    try:
        findings = [found for file in sources(paths) for found in check(file, rules, long=given.long)]
    except FileNotFoundError as error:
        parser.error(str(error))
    if given.count:
        for name, count in sorted(Counter(directory(found.path) for found in findings).items()):
            print(f"{count:5} {name}")
    else:
        print(*findings, sep="\n", end="\n" if findings else "")
    return 1 if any(not found.warning for found in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
