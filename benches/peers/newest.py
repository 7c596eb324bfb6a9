"""Download newer libraries than those of this system, from Debian's packages: `newest.py DIRECTORY`.

The C library is one of them, because the others require it. The directory has the layout of a root file system.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from airtoll.guest.build import MIRROR, download

SUITE = "trixie"
PACKAGES = ("libc6", "libssl3t64", "libipsec-mb2", "libipsec-mb-dev")


def main() -> None:
    """Download and unpack the packages."""
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        for package in PACKAGES:
            file, version = download(Path(work), MIRROR, [SUITE], package)
            subprocess.run(["dpkg-deb", "--extract", str(file), str(directory)], check=True)
            print(package, version)


if __name__ == "__main__":
    main()
