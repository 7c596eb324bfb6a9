"""Benchmarks name the ratios that fell and the CPU times that rose since the stored page."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGE = """# Speed

## Sealing

| suite | payload B | Gbit/s | % of limit | OpenSSL ratio |
| --- | ---: | ---: | ---: | ---: |
| ccmp | 64 | 19.2 | 30 | 9.06x |
| ccmp | 128 | 32.1 | 43 | 8.97x |
| wep40 | 64 | 2.24 | - | 2.72x |

## Link

|  | TCP, Mbit/s | TCP / UDP relative to wireguard-go |
| --- | --- | --- |
| no tunnel | 27711 | 10.99 / 4.24 |

## Build

| stage | CPU s | wall s |
| --- | ---: | ---: |
| extension | 300 | 160 |
| study | 4 | 80 |
"""


def compared(tmp_path: Path, *changes: tuple[str, str]) -> tuple[int, list[str]]:
    """Exit status and lines of the comparison of `PAGE` with a changed page."""
    measured = PAGE
    for old, new in changes:
        assert old in measured
        measured = measured.replace(old, new)
    (tmp_path / "stored.md").write_text(PAGE)
    (tmp_path / "measured.md").write_text(measured)
    command = [sys.executable, ROOT / "benches/falls.py", tmp_path / "stored.md", tmp_path / "measured.md"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_a_ratio_that_fell_is_named_by_its_row_and_column(tmp_path: Path) -> None:
    changes = (("8.97x", "7.5x"), ("/ 4.24", "/ 3.00"), ("| 30 |", "| 26 |"))
    assert compared(tmp_path, *changes) == (
        1,
        [
            "Sealing, ccmp, 64, % of limit: 26, stored 30 (-13%)",
            "Sealing, ccmp, 128, OpenSSL ratio: 7.5, stored 8.97 (-16%)",
            "Link, no tunnel, TCP / UDP relative to wireguard-go: 3, stored 4.24 (-29%)",
        ],
    )


def test_absolute_figures_small_changes_and_rises_are_not_named(tmp_path: Path) -> None:
    changes = (("19.2", "1.2"), ("27711", "3"), ("8.97x", "8.2x"), ("2.72x", "5x"), ("| 43 |", "| 40 |"))
    assert compared(tmp_path, *changes) == (0, ["no ratio fell, and no CPU time rose"])


def test_a_cpu_time_that_rose_is_named_if_the_rise_is_large(tmp_path: Path) -> None:
    changes = (("| 300 |", "| 390 |"), ("| 4 |", "| 8 |"), ("| 80 |", "| 160 |"))
    assert compared(tmp_path, *changes) == (1, ["Build, extension, CPU s: 390, stored 300 (+90)"])


def test_a_page_can_name_smaller_rises() -> None:
    script = (
        "import sys; sys.path.insert(0, 'benches'); from falls import rises; "
        f"page = {PAGE!r}; print(*(rises(page, page.replace('300', now), 0.1) for now in ('331', '329')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['Build, extension, CPU s: 331, stored 300 (+31)'] []\n"


def test_rows_that_only_one_page_has_are_not_compared(tmp_path: Path) -> None:
    changes = (("| wep40 |", "| tkip |"), ("## Link", "## Tunnel"))
    assert compared(tmp_path, *changes) == (0, ["no ratio fell, and no CPU time rose"])


def test_the_pages_with_ratios_have_some() -> None:
    for page in ("air", "ciphers", "decrypt-speed", "link-speed"):
        script = (
            "import sys; sys.path.insert(0, 'benches'); from falls import ratios; from pathlib import Path; "
            f"print(len(ratios(Path('docs/measurements/{page}.md').read_text())))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert int(done.stdout) > 0, page
