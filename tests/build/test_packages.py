"""The packages of the core crates contain their sources and what a user reads first, and nothing else."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CORES = ("wlan-frames", "wlan-ciphers", "wlan-rsn", "wlan-air")
MADE_BY_CARGO = {".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml.orig"}
REQUIRED = {"Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"}


def cargo(*arguments: str) -> str:
    command = ["cargo", *arguments, "--offline"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("crate", CORES)
def test_a_package_contains_sources_and_an_example(crate: str) -> None:
    files = set(cargo("package", "--package", crate, "--list", "--allow-dirty").splitlines())
    assert files >= REQUIRED
    examples = {file for file in files if file.startswith("examples/")}
    assert examples
    others = files - REQUIRED - MADE_BY_CARGO - examples
    assert {file for file in others if not (file.startswith("src/") and file.endswith(".rs"))} == set()


def test_a_core_crate_depends_on_published_versions_only() -> None:
    metadata: dict[str, Any] = json.loads(cargo("metadata", "--no-deps", "--format-version", "1"))
    packages = {package["name"]: package for package in metadata["packages"]}
    for crate in CORES:
        assert packages[crate]["description"]
        for dependency in packages[crate]["dependencies"]:
            if dependency["kind"] is None:
                assert dependency["req"] != "*", f"{crate}: {dependency['name']} has no version"
