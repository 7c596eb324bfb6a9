"""Put the folder of the synthesis flow, which is not a package, on the path, as for the scripts in the folder."""

import sys
from pathlib import Path

SYN = Path(__file__).parents[2] / "rtl" / "syn"

sys.path.append(str(SYN))
