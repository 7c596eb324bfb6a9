"""Run the five papers' studies and write a page per paper: what the paper says, what is measured, what is predicted.

Each study runs in lab air in virtual time and in lab sim, with the durations and levels of --quick and some more
repeats: in virtual time, runs differ by their seeds alone, so intervals are narrow after few of them.
CPU times exist only in real time: the studies of `IN_REAL_TIME` also run there, and runs on a busy machine are invalid.
Interrupted, the command resumes. The results stay in results/papers.
"""

import argparse
import subprocess
from pathlib import Path
from typing import Any, Final

import tomli_w
from runs import AIRTOLL, complete, perform, words_of

STUDIES: Final = ("hayajneh-enhanced", "kolahi-11ac", "kolahi-11n-udp", "pacheco-11ag", "tepsic-11n")
IN_REAL_TIME: Final = {
    "hayajneh-enhanced": (["video", "engine"], 4),
    "kolahi-11ac": (["throughput"], 10),
}
"""Studies whose paper has figures of the CPU, with the probes that measure them, and repeats."""

REPEATS: Final = 4
"""Repeats of a study, unless it requires more or has fewer."""

RESULTS: Final = Path("results/papers")


def reduced(name: str) -> dict[str, Any]:
    """The study with the levels and durations of its [quick] table."""
    study = words_of(name)
    quick = study.pop("quick")
    study["factors"] |= quick.get("factors", {})
    method = study["method"]
    method |= {key: quick[key] for key in ("duration", "warmup")}
    method |= {
        "repeats": min(method["repeats"], max(REPEATS, method.get("least_repeats", 0))),
        "discard_first": 0,
    }
    return study


def in_real_time(study: dict[str, Any], probes: list[str], repeats: int) -> dict[str, Any]:
    """The study of these probes with frames sealed by the hosts. The settings of its link are those of a card."""
    factors = study["factors"] | {"crypto_at": ["host"]}
    method = study["method"] | {"probes": probes, "duration": "1 s", "repeats": repeats}
    return {key: value for key, value in study.items() if key != "link"} | {
        "factors": factors,
        "method": method,
    }


def run(study: dict[str, Any], out: Path, *options: str) -> None:
    """Run a study, or complete the interrupted run."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = out.with_suffix(".toml")
    if out.exists():
        complete(str(out), "--resume", "--allow-mixed")  # the record names the version of each part
    else:
        file.write_text(tomli_w.dumps(study), encoding="utf-8")
        perform(str(file), out, *options)


def main() -> None:
    """Run the studies and write the pages."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--workers", default="2", help="guests side by side")
    arguments.add_argument("--pages", type=Path, metavar="DIR", help="write the pages to DIR")
    given = arguments.parse_args()
    for name in STUDIES:
        study = reduced(name)
        run(study, RESULTS / f"{name}-air", "--clock", "virtual", "--workers", given.workers)
        run(study, RESULTS / f"{name}-sim", "--lab", "sim")
        if name in IN_REAL_TIME:
            run(in_real_time(study, *IN_REAL_TIME[name]), RESULTS / f"{name}-cpu")
    if given.pages is not None:
        results = (str(path) for path in sorted(RESULTS.iterdir()) if path.is_dir())
        subprocess.run([AIRTOLL, "report", *results, "--pages", str(given.pages)], check=True)


if __name__ == "__main__":
    main()
