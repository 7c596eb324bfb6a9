"""Published figures as data, with their arithmetic checked: those of five studies, and those of users' studies.

    data/NAME.toml --load--> Publication --implied--> points that its claims imply --findings--> confirmed, contradicted

- `words`: metrics, units and conditions as models, in the words of study files.
- `publication`: models of the file: points, operands, claims, disagreements, notes, settings.
- `load`: publications by name, and those of users' studies from files.
- `columns`: the columns of points as CSV.
- `arithmetic`: printed numbers with the interval that their rounding allows.
- `implied`: both operands from a difference and its percentage.
- `claims`, `checks`: recomputation of every claim and statement; `findings` collects the results.
- `lookup`: the points of a measured cell; `table`: rows and lines for people and for CSV.

The data contains printed numbers, notes where judgement is required, and the reasons for disagreements with the model.
It contains no computed values. Numbers are Decimals from the printed digits, so that "0.40" keeps its zero and results
are equal on every platform.
"""

from airtoll.published.columns import COLUMNS
from airtoll.published.findings import findings
from airtoll.published.implied import implied_points
from airtoll.published.load import names, parse_figures, publication_of, published, required_publication
from airtoll.published.lookup import cells_of, is_of_paper, matching, merged
from airtoll.published.outcome import ClaimOutcome, Finding
from airtoll.published.publication import (
    AgreementClaim,
    ComparisonClaim,
    Equality,
    Interaction,
    MeasuredClaim,
    Note,
    Operand,
    Ordering,
    Point,
    Publication,
    Same,
    Setting,
    Trend,
)
from airtoll.published.table import finding_lines, point_rows, points_csv
from airtoll.published.words import METRICS, UNITS, Condition

__all__ = [
    "COLUMNS",
    "METRICS",
    "UNITS",
    "AgreementClaim",
    "ClaimOutcome",
    "ComparisonClaim",
    "Condition",
    "Equality",
    "Finding",
    "Interaction",
    "MeasuredClaim",
    "Note",
    "Operand",
    "Ordering",
    "Point",
    "Publication",
    "Same",
    "Setting",
    "Trend",
    "cells_of",
    "finding_lines",
    "findings",
    "implied_points",
    "is_of_paper",
    "matching",
    "merged",
    "names",
    "parse_figures",
    "point_rows",
    "points_csv",
    "publication_of",
    "published",
    "required_publication",
]
