"""The wheel is the whole tool: installed outside of the checkout, every use of it works."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "crates/wlan-decrypt/tests/captures/tkip.pcap"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built by its build back end."""
    directory = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", directory, ROOT],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        check=True,
        capture_output=True,
    )
    (built,) = directory.glob("airtoll-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a fresh virtual environment with the wheel and its dependencies only.

    The dependencies are links to the packages of this environment: installing them again would take longer than the
    tests.
    """
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip = [sys.executable, "-m", "pip", "--python", environment]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", wheel], check=True, capture_output=True)
    (packages,) = environment.glob("lib/python3*/site-packages")
    (ours,) = metadata.distributions(path=[str(packages)])
    for entry in {entry for distribution in required(ours).values() for entry in entries(distribution)}:
        (packages / entry.name).symlink_to(entry)
    subprocess.run([*pip, "check"], check=True, capture_output=True)
    return environment


def required(distribution: metadata.Distribution) -> dict[str, metadata.Distribution]:
    """The distributions that a distribution requires without extras, directly or not, by name."""
    found: dict[str, metadata.Distribution] = {}
    to_visit = [distribution]
    while to_visit:
        for requirement in map(Requirement, to_visit.pop().requires or ()):
            if requirement.name not in found and (
                requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            ):
                found[requirement.name] = metadata.distribution(requirement.name)
                to_visit.append(found[requirement.name])
    return found


def entries(distribution: metadata.Distribution) -> set[Path]:
    """The files and folders of a distribution in the folder of packages."""
    tops = {file.parts[0] for file in distribution.files or ()}
    return {Path(str(distribution.locate_file(top))) for top in tops - {"..", "__pycache__"}}


def airtoll(installed: Path, directory: Path, *arguments: str) -> str:
    done = subprocess.run(
        [installed / "bin/airtoll", *arguments],
        check=False,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_is_for_every_python_and_contains_all_licence_notices(wheel: Path) -> None:
    assert "-cp311-abi3-manylinux" in wheel.name or "-cp311-abi3-linux" in wheel.name
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        notices = content.read("airtoll/THIRD-PARTY-LICENSES").decode()
    assert {name.rpartition("/")[2] for name in names if "/licenses/" in name} == {
        "LICENSE-APACHE",
        "LICENSE-MIT",
    }
    linked = subprocess.run(
        [
            "cargo",
            "tree",
            "--package=airtoll-py",
            "--edges=normal,no-proc-macro",
            "--prefix=none",
            "--locked",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    of_others = {" ".join(line.split()[:2]) for line in linked.splitlines() if "(/" not in line}
    assert of_others
    for crate in of_others:
        assert crate.replace(" v", " ") in notices


def test_the_wheel_contains_every_file_of_the_package(wheel: Path) -> None:
    folder = ROOT / "python"
    listed = ["git", "ls-files", "airtoll", ":!airtoll/studies"]  # a link to studies/
    tracked = subprocess.run(listed, cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    studies = [f"airtoll/studies/{file.name}" for file in (ROOT / "studies").glob("*.toml")]
    with zipfile.ZipFile(wheel) as content:
        assert {*tracked, *studies} <= set(content.namelist())


def test_the_module_in_the_wheel_is_stripped(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        module = content.extract("airtoll/_rust.abi3.so", tmp_path)
    sections = subprocess.run(
        ["readelf", "--sections", "--wide", module], check=True, capture_output=True, text=True
    ).stdout
    assert ".text" in sections
    assert ".debug_info" not in sections


def test_the_installed_tool_measures_reports_and_decrypts(installed: Path, tmp_path: Path) -> None:
    version = airtoll(installed, tmp_path, "--version")
    assert version.startswith("airtoll ")

    airtoll(installed, tmp_path, "run", "quickstart", "--quick", "--lab", "sim", "--out", "result")
    (tmp_path / "result/report.html").unlink()
    airtoll(installed, tmp_path, "report", "result")
    assert "</html>" in (tmp_path / "result/report.html").read_text()

    assert "ccmp" in airtoll(installed, tmp_path, "ciphers", "--suite", "ccmp", "--size", "1500")

    shutil.copy(CAPTURE, tmp_path)
    airtoll(installed, tmp_path, "decrypt", "tkip.pcap", "--psk", "correct-horse", "--out", "plain.pcap")
    assert (tmp_path / "plain.pcap").stat().st_size > 24

    assert "LUT" in airtoll(installed, tmp_path, "rtl", "report")
