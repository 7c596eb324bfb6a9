"""Release a version from a clean checkout of the branch main.

usage: python tools/release.py VERSION [--test COMMAND] [--dist COMMAND]

`make release VERSION=X.Y.Z` calls it. It checks the checkout and CHANGELOG.md, runs the tests unless they have passed
for this commit, sets the version, commits, builds the distributions and creates the annotated tag. It does not push.
If a step fails, the branch is at the commit from which it started.
"""

import argparse
import datetime
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTED = ROOT / "target/tested"
"""The last commit for which `make test` passed."""
DIST = ROOT / "target/dist"
SOURCE = re.compile(r'^\[workspace\.package\]\nversion = "(.+)"$', re.MULTILINE)
"""The version of the project, in Cargo.toml. The other files repeat it."""
UNRELEASED = "## [Unreleased]\n"
OF_MAKE = {"VERSION", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS"}
"""Environment variables by which make passes on the variables of its command line."""


def git(*arguments: str) -> str:
    """The output of a command of git."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run(command: str) -> None:
    """Run a command of the release, and end the release if it fails.

    The command does not inherit VERSION from `make release`: it would replace the variable of this name in the Makefile
    of the guest's kernel.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    if subprocess.run(shlex.split(command), cwd=ROOT, env=inherited, check=False).returncode:
        sys.exit(f"release: `{command}` failed")


def check(version: str, current: str, changelog: str) -> None:
    """Refuse a release whose version, checkout or changelog is not ready."""
    numbers = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version)
    if not numbers or [int(each) for each in numbers.groups()] <= [int(each) for each in current.split(".")]:
        sys.exit(f"release: VERSION={version}: expected X.Y.Z above {current}")
    if changes := git("status", "--porcelain"):
        sys.exit(f"release: the checkout has changes: commit or remove them\n{changes}")
    if (branch := git("branch", "--show-current")) != "main":
        sys.exit(f"release: the branch is {branch or 'detached'}: git switch main")
    if git("tag", "--list", f"v{version}"):
        sys.exit(f"release: the tag v{version} exists")
    if not re.search(r"^- ", changelog.partition(UNRELEASED)[2].partition("\n## ")[0], re.MULTILINE):
        sys.exit("release: CHANGELOG.md has no lines under [Unreleased]")


def set_version(version: str, current: str, changelog: str) -> None:
    """Write the version into each file that has it, and name the unreleased changes after it."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    old = re.escape(current)

    def change(name: str, pattern: str, to: str = version) -> None:
        path = ROOT / name
        text, found = re.subn(
            pattern, rf"\g<1>{to}\g<2>", path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        if not found:
            raise SystemExit(f"release: {name} lacks the version {current}")
        path.write_text(text, encoding="utf-8")

    change("Cargo.toml", rf'^(version = "){old}(")$')
    for name in ("Cargo.toml", "crates/wlan-ciphers/Cargo.toml"):
        change(name, rf'(\bpath = "[^"]+", version = "){old}(")')
    # Packages of the workspace have no source.
    change("Cargo.lock", rf'^(name = "[^"]+"\nversion = "){old}("\n(?!source))')
    change("CITATION.cff", rf"^(version: ){old}()$")
    change("CITATION.cff", r"^(date-released: )\S+()$", today)
    change("docs/how-to/install.md", rf"(airtoll-){old}(-)")
    heading = f"{UNRELEASED}\n## [{version}] - {today}\n"
    (ROOT / "CHANGELOG.md").write_text(changelog.replace(UNRELEASED, heading), encoding="utf-8")


def main() -> None:
    """Release the version that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version")
    parser.add_argument("--test", default="make test", help="the command that tests the checkout")
    parser.add_argument("--dist", default="make dist", help="the command that builds the distributions")
    given = parser.parse_args()
    version: str = given.version
    source = SOURCE.search((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if source is None:
        sys.exit("release: Cargo.toml has no version")
    check(version, source[1], changelog)
    start = git("rev-parse", "HEAD")
    if not TESTED.is_file() or TESTED.read_text(encoding="utf-8").strip() != start:
        run(given.test)
        check(version, source[1], changelog)
    try:
        set_version(version, source[1], changelog)
        git("commit", "--quiet", "--all", "--message", f"Release {version}")
        run(given.dist)
        git("tag", "--annotate", f"v{version}", "--message", f"airtoll {version}")
    except BaseException:
        git("reset", "--quiet", "--hard", start)
        raise
    print(f"airtoll {version} is committed and tagged v{version}. Its distributions:")
    for path in sorted(DIST.iterdir()):
        print(f"  {path.relative_to(ROOT)}")
    print(f"To publish it: git push origin main v{version}")


if __name__ == "__main__":
    main()
