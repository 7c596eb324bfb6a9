"""Fit a card to each paper, and compare the signs of the predicted costs of security with the paper's claims.

The fits are those of `airtoll fit STUDY --vary forwarding+processor`. The signs are from lab sim: a claim agrees if the
predicted change has the claimed sign, or, for a claim of equality, if it is within the claim's limit.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tomli_w
from page import publish
from runs import AIRTOLL, perform, words_of

from airtoll.prediction import FITTED
from airtoll.published import published
from airtoll.report.material.data import ReportData
from airtoll.report.parts.claims import Claims, Judged
from airtoll.report.parts.statements import Contrast
from airtoll.stats import METRICS
from airtoll.store import Result

FITTED_STUDIES = ("kolahi-11ac", "kolahi-11n-udp", "pacheco-11ag", "tepsic-11n")
STUDIES = (*FITTED_STUDIES, "hayajneh-enhanced")
METRIC_OPTIONS = [word for name in ("throughput", "rtt", "ftp_rate") for word in ("--metric", name)]
"""The metrics that depend on the processor of a card."""


def introduction() -> str:
    """The title and the command."""
    return (
        "# Fitted cards\n\n"
        "A fitted card predicts a figure of its paper with an error of some 12 % (root mean square) if the figure\n"
        "is left out of the fit. The model has the sign of most published costs of security.\n\n"
        "`make bench-cards WRITE=docs/measurements/cards.md` computes these tables in virtual time: they are the\n"
        "same on every machine. [Cards](../explanation/cards.md) explains the model and the fit.\n\n"
        "Held out: the figure is predicted by a card that is fitted without it."
    )


def fits() -> str:
    """A table per paper: each figure, its predictions and their errors."""
    return "\n\n".join(map(_fit, FITTED_STUDIES))


def _fit(name: str) -> str:
    printed = subprocess.run(
        [AIRTOLL, "fit", name, "--vary", "forwarding+processor", *METRIC_OPTIONS, "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    fit = json.loads(printed.stdout)
    fitted = {each["figure"]: each for each in fit["fitted"]}
    rows = [
        f"| {each['figure']} | {_value(each, 'published')} "
        f"| {_error(fitted.get(each['figure']))} | {_error(each)} |"
        for each in sorted(fit["held_out"], key=lambda each: str(each["figure"]))
    ]
    link = ", ".join(f"`{key}` {fit['settings'][key]:g}" for key in FITTED if fit["settings"].get(key))
    (best,) = fit["together"]
    return "\n".join(
        [
            f"## {name}\n",
            f"Settings (us, ns per byte): {link}. Root mean square error: {best['error_percent']['rms']:.1f} % fitted, "
            f"{best['held_out']['rms']:.1f} % held out.\n",
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
    """The claims about security whose predicted change has the claimed sign, by paper, and the other claims."""
    with TemporaryDirectory() as directory:
        return signs_of({name: _simulated(name, Path(directory) / name) for name in STUDIES})


def _simulated(name: str, directory: Path) -> Claims:
    """The claims of a study in lab sim. If cards and hosts encrypt, all claims except those of CPU refer to cards."""
    study = words_of(name)
    if "card" in study["factors"]["crypto_at"]:
        study["factors"]["crypto_at"] = ["card"]
    file = directory.with_suffix(".toml")
    file.write_text(tomli_w.dumps(study), encoding="utf-8")
    perform(str(file), directory, "--lab", "sim")
    return Claims(ReportData.of(Result.open(directory)), published(name))


def signs_of(studies: Mapping[str, Claims]) -> str:
    """The section about signs, of the claims of each study in lab sim."""
    lines = [
        "## Signs of the costs of security\n",
        "Claims that compare security levels, and claims about differences of such costs, by IP version, packet\n"
        "size or load. Lab sim, with all levels and repeats of the studies.\n",
        "| study | costs | same sign | differences of costs | same sign | all | same sign |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    counts = {name: _counts(claims.of_security) for name, claims in studies.items()}
    total = list(map(sum, zip(*counts.values(), strict=True)))
    for name, of_study in {**counts, "all": total}.items():
        shares = (
            f"{claims} | {agreeing} ({100 * agreeing / claims:.0f} %)"
            for claims, agreeing in zip(of_study[::2], of_study[1::2], strict=True)
        )
        lines.append(f"| {name} | {' | '.join(shares)} |")
    lines += ["", "The other claims, with the sentences that reports show:\n"]
    lines += ["| study | claims | why the model differs |", "|---|---:|---|"]
    for name, claims in studies.items():
        reasons = Counter(one.disagreement for one in claims.of_security if one.model_disagrees)
        lines += [f"| {name} | {count} | {reason} |" for reason, count in reasons.items()]
    return "\n".join(lines)


def _counts(judged: Sequence[Judged]) -> list[int]:
    """Numbers of claims and of agreeing claims: about costs, about differences of costs, and of all."""
    differences = [one for one in judged if isinstance(one.statement, Contrast)]
    costs = [one for one in judged if not isinstance(one.statement, Contrast)]
    groups = (costs, differences, judged)
    return [n for group in groups for n in (len(group), sum(not one.model_disagrees for one in group))]


if __name__ == "__main__":
    publish(__doc__ or "", introduction(), [fits, signs])
