"""The build back end: maturin, with the commit of the checkout in source distributions.

A wheel is built in a checkout, where `crates/airtoll-py/build.rs` asks git for the commit. A source distribution has
no git repository, so it contains the commit in a file, which build.rs reads.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import maturin
from maturin import (
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

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
_FILE = _ROOT / "crates/airtoll-py/commit"


def build_sdist(sdist_directory: str, config_settings: Mapping[str, str] | None = None) -> str:
    """Build the source distribution and return its file name."""
    if not _SCRIPT.is_file():  # an unpacked source distribution, which already has the file
        return maturin.build_sdist(sdist_directory, config_settings)
    commit = subprocess.run([_SCRIPT], check=True, capture_output=True).stdout
    _FILE.write_bytes(commit)
    try:
        return maturin.build_sdist(sdist_directory, config_settings)
    finally:
        _FILE.unlink()
