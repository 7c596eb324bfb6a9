"""Restrict pytest to its own tests: the folders below tb, except gate_level, have cocotb tests for a simulator."""

import sys
from pathlib import Path

TB = Path(__file__).parent / "tb"
sys.path.insert(0, str(TB))

BENCHES = [folder.name for folder in TB.iterdir() if folder.is_dir() and folder.name != "gate_level"]
collect_ignore_glob = [*(f"tb/{bench}/*" for bench in BENCHES), "build/*"]
