"""Links in the documentation have existing targets, and the site's navigation has every page once."""

import os
import re
from pathlib import Path

import pytest
from doc_pages import DOCS, PAGES, ROOT, anchors, generated, name_of, prose, text_of

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


@pytest.mark.parametrize("page", [*PAGES, *sorted(generated())], ids=name_of)
def test_links_resolve(page: Path) -> None:
    for target, anchor in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page))):
        if ":" in target:
            continue
        path = Path(os.path.normpath(page.parent / target)) if target else page
        # A stored page is also read without the site, which has the generated pages.
        assert path.exists() or (path in generated() and page in generated()), f"{target} does not exist"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{target} has no heading for #{anchor}"


def test_the_navigation_has_every_page_once() -> None:
    listed = re.findall(
        r"^ +- .+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(listed) == len(set(listed))
    stored = {path.relative_to(DOCS).as_posix() for path in (*DOCS.rglob("*.md"), *generated())}
    beside = set(listed) - stored
    of_papers = {
        path for path in stored if path.startswith("measurements/papers/")
    }  # a hook of the site adds these
    assert stored - of_papers <= set(listed)
    assert all((ROOT / path).exists() for path in beside)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_one_title(page: Path) -> None:
    assert len(re.findall(r"^# ", prose(page), re.MULTILINE)) == 1


def test_code_names_only_pages_that_exist() -> None:
    sources = [
        path
        for folder in ("benches", "crates", "python", "rtl", "studies", "tests", "tools")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".rs", ".toml", ".v", ".md") and "target" not in path.parts
    ]
    for path in sources:
        for named in re.findall(
            r"(?<![\w/-])docs/[\w/-]+\.(?:md|json|toml|png)", path.read_text(encoding="utf-8")
        ):
            assert (ROOT / named).exists() or ROOT / named in generated(), f"{name_of(path)} names {named}"


def test_generated_pages_are_not_stored() -> None:
    for path in generated():
        assert not path.exists(), f"{name_of(path)} is generated"
        assert text_of(path).startswith("# ")
