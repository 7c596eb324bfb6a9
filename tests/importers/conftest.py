"""Import recorded files into a directory of the test."""

from pathlib import Path
from typing import Any

import pytest
from recorded_files import Import, imported_to

from airtoll.store import Result


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    """Import these files into a result; all have the same levels except the given ones."""

    def make(*names: str, shared_clocks: bool = False, **levels: Any) -> Result:
        return imported_to(tmp_path / "result", *names, shared_clocks=shared_clocks, **levels)

    return make
