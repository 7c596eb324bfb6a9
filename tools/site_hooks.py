"""Hooks of mkdocs, listed in `mkdocs.yml`: add generated pages, pages stored beside the code, and tables as CSV.

Links in pages are relative to the file in the repository, so they also work when browsing the repository. On the site,
the pages of `docs/` are at the top level and other pages keep their path in the repository. The hooks rewrite the
links between the two groups. Each table of a page of measurements is also a CSV file beside the page.
"""

import csv
import io
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import reference_pages

ROOT = reference_pages.ROOT
BESIDE = (
    "CHANGELOG.md",
    "benches/*/README.md",
    "crates/wlan-air/tests/data/ns3.csv",
    "rtl/README.md",
    "rtl/doc/*.md",
    "rtl/doc/testplan.toml",
    "rtl/doc/figures/*.svg",
)
"""Files outside `docs/` that are also on the site."""

PAPERS = "docs/measurements/papers"
"""The pages of published papers. Their titles in the navigation are their headings."""

MEASUREMENTS = "measurements/"

_TABLE = re.compile(r"^\|.*\|\n\|[-:| ]+\|\n(?:\|.*\|\n)+", re.MULTILINE)
_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)|[`*]")

_LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages of the papers, which `airtoll report --pages` writes, to the section of measurements."""
    pages = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / PAPERS).glob("*.md"))
    for section in config.nav or ():
        if pages and "Measurements" in section:
            section["Measurements"].append({"Published and measured": pages})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and the pages that are stored beside the code."""
    for path, text in reference_pages.pages().items():
        files.append(File.generated(config, path, content=text))
    for pattern in BESIDE:
        for found in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, found.relative_to(ROOT).as_posix(), abs_src_path=str(found)))
    for page in [
        file for file in files if file.src_uri.startswith(MEASUREMENTS) and file.is_documentation_page()
    ]:
        for path, table in tables(page.src_uri, page.content_string):
            files.append(File.generated(config, path, content=as_csv(table)))
    return files


def tables(page: str, markdown: str) -> Iterator[tuple[str, str]]:
    """The path of the CSV file, and the Markdown, of each table of a page. The first is PAGE-1.csv."""
    for number, table in enumerate(_TABLE.findall(markdown), start=1):
        yield f"{page.removesuffix('.md')}-{number}.csv", table


def as_csv(table: str) -> str:
    """A table in Markdown as CSV, without links, emphasis and code marks."""
    text = io.StringIO()
    heading, _, *rows = (line.strip("|").split("|") for line in table.splitlines())
    csv.writer(text).writerows(
        [[_MARKUP.sub(r"\1", cell).strip() for cell in row] for row in (heading, *rows)]
    )
    return text.getvalue()


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Rewrite the links of a page to the paths of their targets on the site."""
    here: str = page.file.src_uri
    beside = page.file.abs_src_path is not None and page.file.generated_by is not None
    in_repository = here if beside else f"docs/{here}"

    def on_site(link: re.Match[str]) -> str:
        opening, target, anchor, closing = link.groups(default="")
        if ":" in target:
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository), target))
        path = path.removeprefix("docs/")
        if files.get_file_from_path(path) is None:
            return link[0]  # mkdocs reports the broken link
        return f"{opening}{posixpath.relpath(path, posixpath.dirname(here) or '.')}{anchor}{closing}"

    if here.startswith(MEASUREMENTS):
        names = (posixpath.basename(path) for path, _ in tables(here, markdown))
        markdown = _TABLE.sub(lambda table: f"{table[0]}\n[CSV]({next(names)})\n", markdown)
    return _LINK.sub(on_site, markdown)
