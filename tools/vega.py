"""Write the JavaScript of the charts in HTML reports: Vega, Vega-Lite and Vega-Embed as one script.

    tools/vega.py FILE      write the script to FILE

The script comes from vl-convert, so that reports need neither a network nor vl-convert. tools/vega-notices.txt contains
the licence notices of the script.
"""

import sys
from pathlib import Path

import vl_convert

NOTICES = Path(__file__).with_name("vega-notices.txt")


def write(path: Path) -> None:
    """Write the script, unless the file has that content."""
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").encode()
    if not path.is_file() or path.read_bytes() != script:
        path.write_bytes(script)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(Path(sys.argv[1]))
