"""Run the simulations and print their coverage: lines of Verilog, and kinds of frames.

    python rtl/tb/coverage.py [NAME ...]    # all simulations with Verilator, or the ones whose names begin with NAME

Line coverage is Verilator's, with one point per branch, merged over all configurations. The bench of ccmp_core counts
functional coverage, for frames whose verdict and octets were compared.
"""

import json
import os
import re
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from configurations import SIMULATIONS, Simulation

from airtoll.errors import AirtollError, UsageError

Point = tuple[str, int, str]  # file, line, branch

# A point of coverage.dat is a row of fields, each \1, name, \2, value; then the count.
_ROW = re.compile(r"^C '(.*)' (\d+)$")
_VERDICTS = (
    "sealed or opened",
    "short",
    "long",
    "not protected",
    "bad header",
    "no key",
    "key mismatch",
    "exhausted",
    "bad MIC",
    "replayed",
)


def line_points(file: Path) -> Counter[Point]:
    """Counts of each point of the library's modules."""
    points: Counter[Point] = Counter()
    for row in file.read_text().splitlines():
        if match := _ROW.match(row):
            fields = dict(part.split("\2", 1) for part in match[1].split("\1") if "\2" in part)
            source = Path(fields["f"])
            if source.parent.name == "rtl":
                points[source.name, int(fields["l"]), fields.get("o", "")] += int(match[2])
    return points


def functional_points(file: Path) -> Counter[str]:
    """Counts of each kind of compared frame."""
    points: Counter[str] = Counter()
    for row in file.read_text().splitlines():
        points.update(json.loads(row))
    return points


def print_lines(points: Counter[Point]) -> None:
    """Print one row per module, and the points without coverage."""
    files: defaultdict[str, list[Point]] = defaultdict(list)
    for point in points:
        files[point[0]].append(point)
    print("module                points  passed  share  lines not passed")
    for name, each in sorted(files.items()):
        missed = sorted({line for point in each if not points[point] for line in (point[1],)})
        passed = sum(points[point] > 0 for point in each)
        print(f"{name:21} {len(each):6} {passed:7} {passed / len(each):6.1%}  {', '.join(map(str, missed))}")
    passed = sum(count > 0 for count in points.values())
    print(f"{'all':21} {len(points):6} {passed:7} {passed / len(points):6.1%}")


def print_functional(points: Counter[str]) -> None:
    """Print frames by verdict; for sealed or opened frames, the cross of direction, key, header and size."""
    split = {tuple(point.split("/")): count for point, count in points.items()}
    print("\nverdict            sealing  opening")
    for number, verdict in enumerate(_VERDICTS):
        counts = [
            sum(n for key, n in split.items() if key[:2] == (str(number), way)) for way in ("seal", "open")
        ]
        print(f"{verdict:17} {counts[0]:8} {counts[1]:8}")
    good = {key[1:]: count for key, count in split.items() if key[0] == "0"}
    names = [sorted({key[at] for key in good}) for at in range(4)]
    cells = [cell for cell in product(*names) if cell[3] != "A-MSDU" or cell[2].startswith("QoS")]
    passed = sum(cell in good for cell in cells)
    print(f"\ndirection x key x header x size: {passed} of {len(cells)} ({passed / len(cells):.1%})")
    print(f"{'header':22}" + "".join(f"{size:>10}" for size in names[3]))
    for header in names[2]:
        counts = [sum(n for key, n in good.items() if key[2:] == (header, size)) for size in names[3]]
        print(f"{header:22}" + "".join(f"{count:10}" for count in counts))


def main(wanted: list[str]) -> None:
    """Run the simulations and print their coverage."""
    chosen = [
        each
        for each in SIMULATIONS
        if (each.simulator == "verilator" or wanted) and (not wanted or each.name.startswith(tuple(wanted)))
    ]
    if not chosen:
        raise UsageError(f"no simulation's name begins with {' or '.join(wanted)}")

    def run(each: Simulation) -> Path:
        return each.run(coverage=True)

    lines: Counter[Point] = Counter()
    functional: Counter[str] = Counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for folder in pool.map(run, chosen):
            for point, count in line_points(folder / "coverage.dat").items():
                lines[point] += count
            if (folder / "functional.jsonl").is_file():
                functional += functional_points(folder / "functional.jsonl")
    print_lines(lines)
    if functional:
        print_functional(functional)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except AirtollError as error:
        print(f"coverage: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except AssertionError as error:
        print(f"coverage: {error}", file=sys.stderr)
        sys.exit(1)
