"""The synthesis flow is no package: its modules are found as the scripts in its folder find them."""

import sys
from pathlib import Path

SYN = Path(__file__).parents[2] / "rtl" / "syn"

sys.path.append(str(SYN))
