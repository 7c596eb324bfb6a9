"""`make release` sets the version, dates the changes, commits, tags and names the distributions, or changes nothing."""

import datetime
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIST = f"{sys.executable} -c \"import os; os.makedirs('target/dist'); open('target/dist/airtoll-9.8.7.tar.gz', 'w')\""
"""In place of `make dist`: creates one file."""


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the checkout with its current files, an unreleased change, and nothing to commit."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout of airtoll")
    folder = tmp_path_factory.mktemp("release") / "clone"
    subprocess.run(["git", "clone", "--quiet", "--shared", "--sparse", ROOT, folder], check=True)
    git(folder, "sparse-checkout", "set", "crates", "docs/how-to", "fuzz", "tools")
    git(folder, "checkout", "--quiet", "-B", "main")
    git(folder, "config", "user.name", "test")
    git(folder, "config", "user.email", "test@example.org")
    changed = ["tools/release.py", "tools/tested.sh", "Cargo.toml", "Cargo.lock", "CITATION.cff"]
    for name in [*changed, "crates/wlan-ciphers/Cargo.toml", "docs/how-to/install.md"]:
        shutil.copy(ROOT / name, folder / name)
    (folder / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A feature.\n\n## [0.1.0] - 2026-01-01\n\n- The first.\n"
    )
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "change")
    return folder


@pytest.fixture
def clone(prepared: Path) -> Iterator[Path]:
    """The prepared clone, which the next test gets in its first state."""
    start = git(prepared, "rev-parse", "HEAD")
    yield prepared
    git(prepared, "switch", "--quiet", "--force", "main")
    git(prepared, "reset", "--quiet", "--hard", start)
    git(prepared, "clean", "--quiet", "-dffx")
    for tag in git(prepared, "tag", "--list", "v9*").split():
        git(prepared, "tag", "--delete", tag)


def release(folder: Path, version: str = "9.8.7", *, test: str = "true", dist: str = DIST) -> tuple[int, str]:
    """Exit status and output of the script, with cheap commands in place of `make test` and `make dist`."""
    command = [sys.executable, "tools/release.py", version, "--test", test, "--dist", dist]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_release_sets_every_version_and_tags_one_commit(clone: Path) -> None:
    before = git(clone, "rev-parse", "HEAD")
    old = json.loads(subprocess.check_output(["cargo", "read-manifest"], cwd=clone / "crates/airtoll-py"))[
        "version"
    ]

    status, said = release(clone)

    assert status == 0, said
    assert "target/dist/airtoll-9.8.7.tar.gz" in said
    assert "git push origin main v9.8.7" in said
    assert git(clone, "rev-parse", "v9.8.7^{commit}", "HEAD").split() == [git(clone, "rev-parse", "main")] * 2
    assert git(clone, "rev-parse", "HEAD^") == before
    assert git(clone, "cat-file", "-t", "v9.8.7") == "tag"
    assert git(clone, "status", "--porcelain") == ""
    # Cargo accepts the manifests and the lock file without a change, and every package has the new version.
    command = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1"]
    metadata = json.loads(subprocess.check_output(command, cwd=clone))
    ours = [each for each in metadata["packages"] if each["source"] is None]
    assert {each["version"] for each in ours if each["version"] != "0.0.0"} == {"9.8.7"}
    required = {
        dependency["req"] for each in ours for dependency in each["dependencies"] if dependency.get("path")
    }
    assert required <= {"*", "^9.8.7"}
    files = [
        path
        for path in git(clone, "ls-files", "*.toml", "*.cff", "*.md").split()
        if "measurements" not in path
    ]
    assert [path for path in files if old in git(clone, "show", f"HEAD:{path}")] == []


def test_the_changes_move_under_the_version_and_the_date(clone: Path) -> None:
    release(clone)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    assert (clone / "CHANGELOG.md").read_text() == (
        f"# Changelog\n\n## [Unreleased]\n\n## [9.8.7] - {today}\n\n### Added\n\n- A feature.\n\n"
        "## [0.1.0] - 2026-01-01\n\n- The first.\n"
    )
    assert f"version: 9.8.7\ndate-released: {today}\n" in (clone / "CITATION.cff").read_text()
    # Without a new change there is nothing to release.
    assert release(clone, "9.9.0") == (1, "release: CHANGELOG.md has no lines under [Unreleased]\n")


@pytest.mark.parametrize("version", ["0.0.1", "1.2", "v9.8.7", "next"])
def test_a_version_must_be_above_the_current_one(clone: Path, version: str) -> None:
    status, said = release(clone, version)
    assert status == 1
    assert said.startswith(f"release: VERSION={version}: expected X.Y.Z above ")


def test_only_a_clean_checkout_of_main_is_released(clone: Path) -> None:
    git(clone, "tag", "v9.8.7")
    assert release(clone) == (1, "release: the tag v9.8.7 exists\n")
    git(clone, "switch", "--quiet", "--create", "topic")
    assert release(clone) == (1, "release: the branch is topic: git switch main\n")
    (clone / "new.txt").touch()
    status, said = release(clone)
    assert (status, said.splitlines()[-1]) == (1, "?? new.txt")


@pytest.mark.parametrize(("test", "dist"), [("false", DIST), ("true", "false"), ("touch new.txt", DIST)])
def test_a_release_that_fails_changes_nothing(clone: Path, test: str, dist: str) -> None:
    before = git(clone, "rev-parse", "HEAD")
    status, said = release(clone, test=test, dist=dist)
    assert status == 1
    assert said.startswith("release: ")
    assert git(clone, "rev-parse", "HEAD") == before
    assert git(clone, "tag", "--list", "v9.8.7") == ""
    assert git(clone, "status", "--porcelain", "--untracked-files=no") == ""


def test_tests_that_passed_for_this_commit_do_not_run_again(clone: Path) -> None:
    commit = subprocess.check_output(["tools/tested.sh"], cwd=clone, text=True).strip()
    subprocess.run(["tools/tested.sh", commit], cwd=clone, check=True)
    assert release(clone, test="false")[0] == 0
    # They are not those of the released commit.
    with (clone / "CHANGELOG.md").open("r+") as file:
        text = file.read()
        file.seek(0)
        file.write(text.replace("[Unreleased]\n", "[Unreleased]\n\n- Another.\n"))
    git(clone, "commit", "--quiet", "--all", "--message", "change")
    assert release(clone, "9.9.0", test="false") == (1, "release: `false` failed\n")


def test_the_commands_do_not_inherit_the_version_from_make(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAKEFLAGS", "-- VERSION=9.8.7")
    monkeypatch.setenv("VERSION", "9.8.7")
    status, said = release(clone, test="""sh -c 'test "$MAKEFLAGS$VERSION" = ""'""")
    assert status == 0, said


def test_tests_of_a_checkout_with_changes_are_not_recorded(clone: Path) -> None:
    commit = subprocess.check_output(["tools/tested.sh"], cwd=clone, text=True).strip()
    (clone / "README.md").write_text(os.urandom(4).hex())
    assert subprocess.check_output(["tools/tested.sh"], cwd=clone) == b""
    subprocess.run(["tools/tested.sh", commit], cwd=clone, check=True)
    assert not (clone / "target/tested").exists()
