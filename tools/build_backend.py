"""The build back end: maturin, with airtoll's programs, the script of the charts, the commit and the licence notices.

A wheel is built in a checkout, where `crates/airtoll-py/build.rs` asks git for the commit. A source distribution has
no git repository, so it contains the commit in a file, which build.rs reads. It also contains the script of the charts.
"""

import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import licences
import maturin
import vega
from maturin import (
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from wheel.wheelfile import WheelFile

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_ROOT = Path(__file__).parents[1]
_SCRIPT = _ROOT / "tools/commit.sh"
_BUILD = _ROOT / "tools/build.sh"
_AGENT = _ROOT / "tools/agent.sh"
_PEERS = _ROOT / "tools/peers.sh"
_COMMIT = _ROOT / "crates/airtoll-py/commit"
_SCRIPT_OF_CHARTS = _ROOT / "python/airtoll/report/pages/templates/vega.js"
_NOTICES = _ROOT / "python/airtoll/THIRD-PARTY-LICENSES"


@contextmanager
def _removed_afterwards(path: Path) -> Iterator[Path]:
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _build_peers(config_settings: Mapping[str, str] | None) -> None:
    """Build the program of `airtoll ciphers`, with Zig for the same target if Zig links the extension module."""
    arguments = shlex.split((config_settings or {}).get("build-args", ""))
    target = [arguments[arguments.index("--target") + 1]] if "--zig" in arguments else []
    subprocess.run([_PEERS, *target], check=True)


def _write_script_of_charts() -> None:
    if _SCRIPT.is_file() or not _SCRIPT_OF_CHARTS.is_file():  # otherwise the source distribution contains it
        vega.write(_SCRIPT_OF_CHARTS)


def build_editable(
    wheel_directory: str,
    config_settings: Mapping[str, str] | None = None,
    metadata_directory: str | None = None,  # noqa: ARG001
) -> str:
    """Build in place, and return the file name of a wheel that points Python to the sources."""
    subprocess.run([_BUILD, sys.executable], check=True)
    with TemporaryDirectory() as folder:
        information = maturin.prepare_metadata_for_build_editable(folder, config_settings)
        (Path(folder) / "airtoll.pth").write_text(f"{_ROOT / 'python'}\n")
        name = f"{information.removesuffix('.dist-info')}-py3-none-any.whl"
        with WheelFile(Path(wheel_directory) / name, "w") as wheel:
            wheel.write_files(folder)
    return name


def build_sdist(sdist_directory: str, config_settings: Mapping[str, str] | None = None) -> str:
    """Build the source distribution and return its file name."""
    if not _SCRIPT.is_file():  # an unpacked source distribution, which already has the file
        return maturin.build_sdist(sdist_directory, config_settings)
    vega.write(_SCRIPT_OF_CHARTS)
    commit = subprocess.run([_SCRIPT], check=True, capture_output=True).stdout
    with _removed_afterwards(_COMMIT) as path:
        path.write_bytes(commit)
        return maturin.build_sdist(sdist_directory, config_settings)


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, str] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel and return its file name."""
    _write_script_of_charts()
    subprocess.run([_AGENT], check=True)
    _build_peers(config_settings)
    with _removed_afterwards(_NOTICES) as path:
        licences.write(path)
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
