"""The published figures: what five studies of WLAN security print, as data, with their arithmetic computed again.

    data/NAME.toml --load--> Publication --implied--> points that its claims imply --findings--> what holds, what not

- `words`: metrics, units and conditions as models, in the words of study files.
- `publication`: the file as models: points, operands, claims, notes, settings.
- `load`: the files by name.
- `arithmetic`: printed numbers with the interval that their rounding allows.
- `implied`: a difference and a percent give both operands.
- `claims`, `checks`: every claim and every statement computed again; `findings` puts them together.
- `lookup`: the points beside a measured cell; `table`: rows and lines for people and for CSV.

Facts only. Nothing computed is typed into the data: it has what is printed and, as notes, what needs judgement.
Numbers are Decimals from the printed digits, so that "0.40" keeps its zero, and results are equal on every platform.
"""

from airtoll.published.findings import findings
from airtoll.published.implied import implied_points
from airtoll.published.load import names, published
from airtoll.published.lookup import matching
from airtoll.published.outcome import ClaimOutcome, Finding
from airtoll.published.publication import Note, Point, Publication, Setting
from airtoll.published.table import COLUMNS, finding_lines, point_rows, points_csv
from airtoll.published.words import METRICS, UNITS, Condition

__all__ = [
    "COLUMNS",
    "METRICS",
    "UNITS",
    "ClaimOutcome",
    "Condition",
    "Finding",
    "Note",
    "Point",
    "Publication",
    "Setting",
    "finding_lines",
    "findings",
    "implied_points",
    "matching",
    "names",
    "point_rows",
    "points_csv",
    "published",
]
