"""`AIRTOLL_REQUIRE_ALL=1` turns skips into failures, except skips caused by the machine itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = {
    "mark": '@pytest.mark.skipif(True, reason="{reason}")\ndef test_one(): ...\n',
    "call": 'def test_one():\n    pytest.skip("{reason}")\n',
    "fixture": '@pytest.fixture\ndef air():\n    pytest.skip("{reason}")\n\n\ndef test_one(air): ...\n',
    "module": 'pytest.skip("{reason}", allow_module_level=True)\n',
}


@pytest.mark.parametrize("skip", SKIPS)
@pytest.mark.parametrize(
    ("reason", "required", "fails"),
    [
        ("not installed: tshark", "1", True),
        ("not installed: tshark", "", False),
        ("AIRTOLL_CAPTURES names no folder", "1", False),
        ("this kernel cannot segment UDP", "1", False),
    ],
)
def test_a_skip_fails_where_all_tests_are_required(
    tmp_path: Path, skip: str, reason: str, required: str, fails: bool
) -> None:
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text("import pytest\n\n\n" + SKIPS[skip].format(reason=reason))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "AIRTOLL_REQUIRE_ALL": required},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (reason in done.stdout) == fails
    assert ("1 skipped" in done.stdout) != fails
    assert (done.returncode in (1, 2)) == fails, done.stdout


@pytest.mark.parametrize(
    ("script", "absent", "lacks", "install"),
    [
        ("miri.sh", "cargo", "Miri", "rustup component add --toolchain nightly miri rust-src"),
        ("no-std.sh", "rustc", "libraries for x86_64-unknown-none", "rustup target add x86_64-unknown-none"),
    ],
)
def test_a_toolchain_without_a_part_is_always_a_skip(
    tmp_path: Path, script: str, absent: str, lacks: str, install: str
) -> None:
    program = tmp_path / absent
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    done = subprocess.run(
        [Path(__file__).parents[1] / "tools" / script],
        env={**os.environ, "AIRTOLL_REQUIRE_ALL": "1", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"skipped: this toolchain has no {lacks}")
    assert install in done.stdout
