"""The version contains the commit that was built, in checkouts and in source distributions, and changes with it."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from airtoll import _rust
from airtoll.cli import app

ROOT = Path(__file__).parents[2]
BUILD_SCRIPT = "crates/airtoll-py/build.rs"

IDENTITY = {
    **{
        f"GIT_{who}_{what}": "test@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}

MANIFEST = '[package]\nname = "airtoll-py"\nversion = "1.2.3"\nedition = "2024"\n'
MAIN = 'fn main() { println!("{}", env!("AIRTOLL_VERSION")); }\n'


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **IDENTITY},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def commit_all(folder: Path) -> str:
    """Commit everything and return the abbreviated commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "change")
    return git(folder, "rev-parse", "HEAD")[:12]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files on which the version depends, around a crate that prints the version."""
    root = tmp_path / "tree"
    crate = root / "crates/airtoll-py"
    (crate / "src").mkdir(parents=True)
    (root / "tools").mkdir()
    (root / "python").mkdir()
    shutil.copy(ROOT / "tools/commit.sh", root / "tools")
    shutil.copy(ROOT / BUILD_SCRIPT, crate)
    (crate / "src/main.rs").write_text(MAIN)
    (crate / "Cargo.toml").write_text(MANIFEST)
    (root / "Cargo.toml").write_text('[workspace]\nmembers = ["crates/*"]\nresolver = "3"\n')
    (root / "pyproject.toml").touch()
    (root / "python/module.py").write_text("A = 1\n")
    (root / "README.md").touch()
    (root / ".gitignore").write_text("/target/\n")
    return root


@pytest.fixture
def build(tree: Path) -> Callable[[], tuple[str, bool]]:
    """Build the crate: the version that it prints, and whether anything was compiled."""

    def call() -> tuple[str, bool]:
        environment = {**os.environ, **IDENTITY, "CARGO_TARGET_DIR": str(tree / "target")}
        done = subprocess.run(
            ["cargo", "build", "--offline"],
            cwd=tree,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        printed = subprocess.run(
            [tree / "target/debug/airtoll-py"], check=True, capture_output=True, text=True
        )
        return printed.stdout.strip(), "Compiling" in done.stderr

    return call


def test_a_new_commit_rebuilds_only_the_version(tree: Path, build: Callable[[], tuple[str, bool]]) -> None:
    git(tree, "init", "--quiet")
    subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=tree, check=True, capture_output=True)
    first = commit_all(tree)
    assert build() == (f"1.2.3+g{first}", True)
    assert build() == (f"1.2.3+g{first}", False)

    (tree / "README.md").write_text("The package is made of other files.\n")
    git(tree, "--no-optional-locks", "status")
    assert build() == (f"1.2.3+g{first}", False)

    (tree / "python/module.py").write_text("A = 2\n")
    assert build() == (f"1.2.3+g{first}.dirty", True)
    assert build() == (f"1.2.3+g{first}.dirty", False)

    second = commit_all(tree)
    assert second != first
    assert build() == (f"1.2.3+g{second}", True)

    git(tree, "checkout", "--quiet", first)
    assert build() == (f"1.2.3+g{first}", True)

    (tree / "python/new.py").touch()
    git(tree, "add", "python/new.py")
    assert build() == (f"1.2.3+g{first}.dirty", True)


def test_without_git_the_version_is_that_of_the_file_or_the_package_alone(
    tree: Path, build: Callable[[], tuple[str, bool]]
) -> None:
    # The sources are inside the checkout of another project, whose commit must not be used.
    git(tree.parent, "init", "--quiet")
    commit_all(tree.parent)
    assert build()[0] == "1.2.3"
    (tree / "tools/commit.sh").unlink()
    (tree / "crates/airtoll-py/commit").write_text("0123456789ab.dirty\n")
    assert build() == ("1.2.3+g0123456789ab.dirty", True)
    assert build() == ("1.2.3+g0123456789ab.dirty", False)


def test_a_source_distribution_contains_the_commit_and_cleans_up(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout of airtoll")
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    for file in (
        "pyproject.toml",
        BUILD_SCRIPT,
        "tools/commit.sh",
        "tools/build_backend.py",
        "tools/licences.py",
    ):
        shutil.copy(ROOT / file, clone / file)  # the current content, committed or not
    commit = commit_all(clone)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    hook = f"import build_backend; build_backend.build_sdist({str(tmp_path)!r})"
    subprocess.run(
        [sys.executable, "-c", hook],
        cwd=clone,
        env={**environment, "PYTHONPATH": "tools"},
        check=True,
        capture_output=True,
    )
    assert not (clone / "crates/airtoll-py/commit").exists()
    (archive,) = tmp_path.glob("airtoll-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert (unpacked / "crates/airtoll-py/commit").read_text().strip() == commit
    assert (unpacked / BUILD_SCRIPT).is_file()
    assert not (unpacked / "tools/commit.sh").exists()
    # The scripts that build the programs of a wheel.
    assert {"agent.sh", "peers.sh", "place.sh"} <= {file.name for file in (unpacked / "tools").iterdir()}
    # Files that are links to other folders in the checkout.
    assert (unpacked / "python/airtoll/rtl/results.json").read_bytes() == (
        clone / "rtl/syn/results.json"
    ).read_bytes()
    assert (unpacked / "python/airtoll/studies/quickstart.toml").is_file()
    # Building from it gives a source distribution again.
    subprocess.run(
        [sys.executable, "-c", hook.replace(str(tmp_path), str(tmp_path / "again"))],
        cwd=unpacked,
        env={**environment, "PYTHONPATH": "tools"},
        check=True,
        capture_output=True,
    )
    (archive,) = (tmp_path / "again").glob("airtoll-*.tar.gz")
    with tarfile.open(archive) as packed:
        member = packed.extractfile(f"{unpacked.name}/crates/airtoll-py/commit")
        assert member is not None
        assert member.read().decode().strip() == commit


def test_version_names_the_commit() -> None:
    told = CliRunner().invoke(app, ["--version"]).stdout
    assert told == f"airtoll {_rust.VERSION}\n"
    if (ROOT / ".git").exists():
        assert re.fullmatch(r"airtoll [0-9.]+\+g[0-9a-f]{12,40}(\.dirty)?\n", told)


def test_the_citation_names_the_version_of_the_package() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert _rust.VERSION.split("+")[0] == cited[1]
