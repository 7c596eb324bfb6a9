"""pytest runs what stands in the open here; the folders below tb hold cocotb tests, which run inside a simulator;
gate_level alone is for pytest.
"""

import sys
from pathlib import Path

TB = Path(__file__).parent / "tb"
sys.path.insert(0, str(TB))

BENCHES = [folder.name for folder in TB.iterdir() if folder.is_dir() and folder.name != "gate_level"]
collect_ignore_glob = [*(f"tb/{bench}/*" for bench in BENCHES), "build/*"]
