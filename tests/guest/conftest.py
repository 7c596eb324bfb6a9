"""A guest's kernel, and jobs that run a shell script in a guest."""

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_script import run_script

from airtoll.guest import boot, recipe


@pytest.fixture(scope="session")
def kernel() -> recipe.Kernel:
    """The built kernel."""
    built = recipe.built()
    if built is None:
        pytest.skip(recipe.missing() or "")
    return built


@pytest.fixture
def in_guest(kernel: recipe.Kernel, tmp_path: Path) -> Callable[[str], boot.Ended]:
    """A function that runs the text of a shell script in a guest. The script's files go to `tmp_path`."""

    def run(script: str) -> boot.Ended:
        return run_script(kernel, script, tmp_path)

    return run
