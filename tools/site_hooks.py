"""Hooks of mkdocs, which `mkdocs.yml` names: generated pages, and pages that stay beside the code they describe.

A link in a page is relative to the file in the repository, so that it also works where the repository is browsed. On
the site the pages of `docs/` are at the top, and the other pages keep the path that they have in the repository. The
hooks rewrite the links between the two.
"""

import posixpath
import re
import sys
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
"""The files outside of `docs/` that the site has too."""

_LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and those beside the code."""
    for path, text in reference_pages.pages().items():
        files.append(File.generated(config, path, content=text))
    for pattern in BESIDE:
        for found in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, found.relative_to(ROOT).as_posix(), abs_src_path=str(found)))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Point the links of a page at where their targets are on the site."""
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
            return link[0]  # mkdocs names the link that leads nowhere
        return f"{opening}{posixpath.relpath(path, posixpath.dirname(here) or '.')}{anchor}{closing}"

    return _LINK.sub(on_site, markdown)
