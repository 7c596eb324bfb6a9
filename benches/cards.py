"""Fit a card to each paper, and compare the signs of the predicted costs of security with the paper's claims.

The fits are those of `airtoll studies card`. The signs are from lab sim with --quick: a claim agrees if the predicted
change has the claimed sign, or, for a claim of equality, if it is within the claim's limit.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from page import publish

from airtoll.prediction import FITTED
from airtoll.published import published
from airtoll.report.material.data import ReportData
from airtoll.report.parts.claims import Claims, Judged
from airtoll.report.parts.statements import Contrast
from airtoll.stats import METRICS
from airtoll.store import Result

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))
FITTED_STUDIES = ("kolahi-11ac", "kolahi-11n-udp", "pacheco-11ag", "tepsic-11n")
STUDIES = (*FITTED_STUDIES, "hayajneh-enhanced")


def introduction() -> str:
    """The title and the command."""
    return (
        "# Fitted cards\n\n"
        "`make bench-cards WRITE=docs/measurements/cards.md` computes these tables in virtual time: they are the\n"
        "same on every machine. [Cards](../explanation/cards.md) explains the model and the fit.\n\n"
        "Held out: the figure is predicted by a card that is fitted without it."
    )


def fits() -> str:
    """A table per paper: each figure, its predictions and their errors."""
    return "\n\n".join(map(_fit, FITTED_STUDIES))


def _fit(name: str) -> str:
    printed = subprocess.run(
        [AIRTOLL, "studies", "card", name, "--json"], check=True, capture_output=True, text=True
    )
    fit = json.loads(printed.stdout)
    fitted = {each["figure"]: each for each in fit["fitted"]}
    rows = [
        f"| {each['figure']} | {_value(each, 'published')} "
        f"| {_error(fitted.get(each['figure']))} | {_error(each)} |"
        for each in sorted(fit["held_out"], key=lambda each: str(each["figure"]))
    ]
    link = ", ".join(f"`{key}` {fit['link'][key]:g}" for key in FITTED if fit["link"].get(key))
    rms = fit["rms_error_percent"]
    return "\n".join(
        [
            f"## {name}\n",
            f"Settings (us, ns per byte): {link}. Root mean square error: {rms['fitted']:.1f} % fitted, "
            f"{rms['held_out']:.1f} % held out.\n",
            "| figure | published | error, fitted | error, held out |",
            "|---|---:|---:|---:|",
            *rows,
        ]
    )


def _value(figure: dict[str, Any], key: str) -> str:
    metric = METRICS[figure["metric"]]
    if "than open" in figure["figure"]:
        return f"{100 * (figure[key] - 1):+.0f} %"
    return f"{metric.display(figure[key]):.4g} {metric.display_unit}"


def _error(figure: dict[str, Any] | None) -> str:
    return "not fitted" if figure is None else f"{figure['error_percent']:+.1f} %"


def signs() -> str:
    """The claims about security whose predicted change has the claimed sign, by paper."""
    lines = [
        "## Signs of the costs of security\n",
        "Claims that compare security levels, and claims about differences of such costs, by IP version, packet\n"
        "size or load. Lab sim, --quick.\n",
        "| study | costs | same sign | differences of costs | same sign |",
        "|---|---:|---:|---:|---:|",
    ]
    total = [0, 0, 0, 0]
    with TemporaryDirectory() as directory:
        for name in STUDIES:
            out = Path(directory) / name
            subprocess.run(
                [AIRTOLL, "run", name, "--quick", "--lab", "sim", "--out", str(out)],
                check=True,
                stdout=sys.stderr,
            )
            judged = Claims(ReportData.of(Result.open(out)), published(name)).judged
            of_security = [
                each for each in judged if _compares_security(each) and each.measured.value is not None
            ]
            counts = [
                count
                for contrasts in (False, True)
                for group in [[e for e in of_security if isinstance(e.statement, Contrast) == contrasts]]
                for count in (len(group), sum(map(_agrees, group)))
            ]
            total = [a + b for a, b in zip(total, counts, strict=True)]
            lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    shares = (f"{total[at + 1]} ({100 * total[at + 1] / total[at]:.0f} %)" for at in (0, 2))
    first, second = shares
    lines.append(f"| all | {total[0]} | {first} | {total[2]} | {second} |")
    return "\n".join(lines)


def _compares_security(judged: Judged) -> bool:
    claim = judged.statement
    if isinstance(claim, Contrast):
        return claim.by == "security" or any(name == "security" for name, _, _ in claim.change.compared)
    return any(name == "security" for name, _, _ in claim.compared)


def _agrees(judged: Judged) -> bool:
    change, claim = judged.measured.value, judged.statement
    assert change is not None
    if claim.direction == "equal":
        return abs(change) <= claim.equal_percent
    return change != 0 and (change > 0) == (claim.direction == "higher")


if __name__ == "__main__":
    publish(__doc__ or "", introduction(), [fits, signs])
