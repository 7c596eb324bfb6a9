"""Collect the licence notices of the crates in a wheel and of the script of the charts.

    tools/licences.py FILE      write the notices to FILE

The licences require that the notices accompany every copy, so the wheel contains them.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("airtoll-py", "wlan-peers")
"""The extension module, with the agent, and the program of `airtoll ciphers`."""
NOTICES = ("LICEN[CS]E*", "COPYING*", "COPYRIGHT*", "NOTICE*", "UNLICENSE*")
"""The files of a crate that contain its notices, as patterns."""


def crates(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The packages of other projects that `PACKAGES` are linked with, by name and version.

    Build scripts and procedural macros run at compile time, so their code is not in the binary.
    """
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    to_visit = [identity for identity, package in packages.items() if package["name"] in PACKAGES]
    found = set(to_visit)
    while to_visit:
        for dependency in nodes[to_visit.pop()]["deps"]:
            identity = dependency["pkg"]
            linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if linked and identity not in found and not is_macro(packages[identity]):
                found.add(identity)
                to_visit.append(identity)
    others = [packages[identity] for identity in found if packages[identity]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def is_macro(package: dict[str, Any]) -> bool:
    """Whether the package is a procedural macro."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def notices(package: dict[str, Any]) -> Iterator[str]:
    """The texts of the licence files of a package."""
    directory = Path(package["manifest_path"]).parent
    paths = {path for pattern in NOTICES for path in directory.glob(pattern) if path.is_file()}
    for path in sorted(paths):
        yield path.read_text(encoding="utf-8").strip()


def document(packages: Sequence[dict[str, Any]]) -> str:
    """All notices, each text once, with the crates that it applies to."""
    applies_to = defaultdict(list)
    for package in packages:
        name = f"{package['name']} {package['version']}"
        authors = ", ".join(package["authors"])
        # A crate without a licence file states its licence and authors in its manifest only.
        for text in list(notices(package)) or [f"Licence: {package['license']}\nAuthors: {authors}"]:
            applies_to[text].append(name)
    parts = ["The binaries of airtoll contain the following crates from https://crates.io/.\n"]
    parts += [f"{package['name']} {package['version']}: {package['license']}" for package in packages]
    for text, names in applies_to.items():
        parts += ["", "=" * 100, f"Notice for {', '.join(names)}:", "", text]
    return "\n".join(parts) + "\n"


def write(path: Path) -> None:
    """Write the notices of all linked crates and of the script to a file."""
    platform = "--filter-platform=x86_64-unknown-linux-gnu"
    command = ["cargo", "metadata", "--locked", "--format-version=1", platform]
    metadata = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    of_script = (ROOT / "tools/vega-notices.txt").read_text(encoding="utf-8")
    path.write_text(f"{document(crates(json.loads(metadata)))}\n{of_script}", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(Path(sys.argv[1]))
