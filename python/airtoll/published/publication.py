"""Models of a publication's data file: every key with its type and meaning."""

import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from itertools import chain
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from airtoll.published.words import FACTORS, METRICS, UNITS, Condition, convert
from airtoll.study import claims, factors
from airtoll.study.quantity import show
from airtoll.study.values import did_you_mean


class PrintedFloat(float):
    """A number of a TOML file that keeps its printed digits: 0.40 is not 0.4."""

    digits: str

    def __new__(cls, digits: str) -> Self:
        """The number with these digits."""
        number = super().__new__(cls, digits)
        number.digits = digits
        return number


def _printed(value: Any) -> Any:
    if isinstance(value, Decimal):
        return value
    digits = value.digits if isinstance(value, PrintedFloat) else value
    digits = str(digits) if isinstance(digits, int) and not isinstance(digits, bool) else digits
    if not isinstance(digits, str) or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", digits):
        raise ValueError(f"{show(value)} is not a printed number, such as 41.50")
    return Decimal(digits)


def _among(names: Collection[str]) -> AfterValidator:
    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"{show(name)} is not one of {', '.join(names)}{did_you_mean(name, names)}")
        return name

    return AfterValidator(check)


MetricName = Annotated[str, _among(METRICS)]
UnitName = Annotated[str, _among(UNITS)]
FactorName = Annotated[str, _among(FACTORS)]

Printed = Annotated[Decimal, BeforeValidator(_printed)]
"""A number with its printed digits: "0.40" is not "0.4"."""

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Place = str
"""The place in the publication: "IV, paragraph 4", "Table 12"; empty if it is not given."""

PrintedText = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Doi = Annotated[str, StringConstraints(pattern=r"^10\.[0-9]{4,}/[!-~]+$")]
Convention = Literal["larger", "smaller"]
"""Which of two numbers a percentage refers to."""


Statistic = Literal["mean", "maximum", "minimum", "below", "at-least", "lower-quartile", "upper-quartile"]
"""A statistic of several numbers. The quartiles bound a range that the text gives for most of them."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Operand(_Table):
    """A number that the text mentions but does not print, such as a bar or a dot of a figure."""

    id: Id
    place: Place = ""
    figure: str | None = None
    metric: MetricName
    unit: UnitName  # as printed
    condition: Condition = Condition()
    subject: str | None = None  # a property that is not a factor: a design, a vendor
    statistic: Statistic | None = None  # over `over`
    over: tuple[FactorName, ...] = ()  # the factors of the mean or extreme
    change: Literal["lower", "higher"] | None = None  # than open, in % or x; None: the metric itself
    source: str | None = None  # the publication that the number is quoted from

    @model_validator(mode="after")
    def _unit_is_of_metric(self) -> Self:
        unit = METRICS[self.metric].unit
        if self.change is not None:
            if self.unit not in ("%", "x"):
                raise ValueError(f"{self.id}: the unit of a change must be % or x")
        elif UNITS[self.unit][0] != UNITS[unit][0]:
            raise ValueError(f"{self.id}: {self.unit} is not a unit of {self.metric}")
        return self


class Implied(_Table):
    """The origin of a number that is implied but not printed."""

    claim: Id
    convention: Convention
    low: Decimal  # the interval that the rounding of the printed numbers allows
    high: Decimal


class Point(Operand):
    """A printed or implied number with its condition and its place."""

    value: Printed
    approximate: bool = False  # the text says "about"
    uncertainty: Printed | None = None  # the printed +-
    implied: Implied | None = None

    @property
    def quoted(self) -> bool:
        """Whether the number is quoted from another publication."""
        return self.source is not None

    @property
    def standard_value(self) -> Decimal:
        """The value in the unit of its metric (METRICS); a change: as a multiple of open."""
        if self.change is None:
            return convert(self.value, self.unit, METRICS[self.metric].unit)
        if self.unit == "x":
            return self.value
        return 1 + convert(self.value, "%", "1") * (1 if self.change == "higher" else -1)


class MeasuredClaim(BaseModel):
    """A claim that results are tested against, and its place in the text."""

    id: Id
    place: Place = ""
    disagreement: Id | None = None  # why the model's sign differs from the claim's: a `Disagreement`


class ComparisonClaim(MeasuredClaim, _Table):
    """A comparison of two numbers, with the printed figures of their difference."""

    kind: Literal["comparison"]
    of: tuple[Id, Id]
    unit: UnitName | None = None  # of the difference
    difference: Printed | None = None
    percent: Printed | None = None
    ratio: Printed | None = None
    approximate: bool = False
    wording: Literal["higher", "lower"] | None = None  # "n % higher" refers literally to the smaller value
    called: Literal["largest", "mean"] | None = None  # over the packet sizes
    better: Id | None = None  # the number that the text calls better


class _Stated(MeasuredClaim):
    """The origin of a claim about levels, and the words of a publication in it. `airtoll.study.claims` has its form."""

    metric: MetricName
    where: Condition = Condition()

    @model_validator(mode="before")
    @classmethod
    def _levels(cls, raw: Any) -> Any:
        """The levels in the syntax of [factors], as those of a condition."""
        if not isinstance(raw, dict):
            return raw
        of = {"better": "factor", "worse": "factor", "of": "factor", "larger": "by", "smaller": "by"}
        parsed = dict(raw)
        for key, name in of.items():
            factor, value = raw.get(name), raw.get(key)
            if factor not in FACTORS or value is None:  # the model reports other factors
                continue
            if isinstance(value, list | tuple):
                parsed[key] = tuple(claims.level_of(each, factor) for each in value)
            else:
                parsed[key] = claims.level_of(value, factor, ends=key in ("larger", "smaller"))
        return parsed


class Ordering(_Stated, claims.OrderingForm):
    """A claim that one level is better than another everywhere."""

    factor: FactorName


class Equality(_Stated, claims.EqualityForm):
    """A claim that a metric is the same at two levels."""

    factor: FactorName


class Trend(_Stated, claims.TrendForm):
    """A claim that a metric rises or falls with packet size or with the offered load."""


class Interaction(_Stated, claims.InteractionForm):
    """A claim that a cost depends on the level of a second factor."""

    factor: FactorName
    by: Annotated[str, _among((*FACTORS, *claims.ORDERED))]


class Same(MeasuredClaim, _Table):
    """Numbers that describe the same quantity."""

    kind: Literal["same"]
    of: tuple[Id, ...] = Field(min_length=2)
    almost: bool = False  # the text says "almost the same"
    why: str | None = None  # the reason that they must be equal, if the text does not state it


class AgreementClaim(MeasuredClaim, _Table):
    """A claim that two numbers agree within their uncertainties, or that they differ."""

    kind: Literal["agreement"]
    of: tuple[Id, Id]
    agree: bool


class PhyRate(_Table):
    """The highest rate of a PHY, as printed."""

    kind: Literal["phy-rate"]
    id: Id
    place: Place
    of: Id
    phy: factors.PhyLevel
    bandwidth: Literal[20, 40, 80, 160]  # MHz
    streams: int


class FrameRate(_Table):
    """Frames per second that a printed time per frame allows."""

    kind: Literal["frames-per-second"]
    id: Id
    place: Place
    of: Id


Claim = Annotated[
    ComparisonClaim | Ordering | Equality | Trend | Interaction | Same | AgreementClaim | PhyRate | FrameRate,
    Field(discriminator="kind"),
]


class Disagreement(_Table):
    """The reason that the model's sign differs from the sign of claims, in one sentence."""

    id: Id
    text: PrintedText


class Note(_Table):
    """An inconsistency that requires judgement."""

    id: Id
    place: Place
    concerns: tuple[Id, ...]
    text: PrintedText


class Setting(_Table):
    """A setting of the study: part of its method."""

    id: Id
    place: Place
    what: PrintedText
    value: PrintedText
    unit: str | None = None


class Term(_Table):
    """A word of the paper and our word for it."""

    printed: PrintedText
    is_: str | None = Field(default=None, alias="is")  # None if we have no word for it
    why: PrintedText


class Publication(_Table):
    """The printed contents of one study: a paper, a vendor's table, a report of a problem."""

    name: Id
    title: PrintedText
    title_from: str | None = None  # the source of the title, if the text does not contain it
    authors: tuple[PrintedText, ...] = ()
    venue: PrintedText | None = None
    year: int | None = None
    doi: Doi | None = None
    url: PrintedText | None = None  # where the publication is, if it has no DOI
    published_from: str | None = None  # the source of venue, year and DOI, if the text does not contain them
    measured: PrintedText | None = None
    condition: Condition = Condition()  # shared by all its own points and operands
    words: tuple[Term, ...] = Field(default=(), alias="word")
    settings: tuple[Setting, ...] = Field(default=(), alias="setting")
    points: tuple[Point, ...] = Field(alias="point")
    operands: tuple[Operand, ...] = Field(default=(), alias="operand")
    claims: tuple[Claim, ...] = Field(default=(), alias="claim")
    disagreements: tuple[Disagreement, ...] = Field(default=(), alias="disagreement")
    notes: tuple[Note, ...] = Field(default=(), alias="note")

    @model_validator(mode="after")
    def _ids_are_known_once(self) -> Self:
        seen: set[str] = set()
        tables = (self.points, self.operands, self.claims, self.disagreements, self.notes, self.settings)
        for item in chain.from_iterable(tables):
            if item.id in seen:
                raise ValueError(f"{item.id}: duplicate id; ids must be unique")
            seen.add(item.id)
        points = {item.id for item in self.points}
        numbers = points | {item.id for item in self.operands}
        for claim in self.claims:
            printed_only = isinstance(claim, AgreementClaim | PhyRate | FrameRate)
            _known(claim.id, _operands_of(claim), points if printed_only else numbers)
        for note in self.notes:
            _known(note.id, note.concerns, seen)
        unused = {each.id for each in self.disagreements}
        reasons = frozenset(unused)
        for claim in self.claims:
            if isinstance(claim, MeasuredClaim) and claim.disagreement is not None:
                _known(claim.id, (claim.disagreement,), reasons)
                unused.discard(claim.disagreement)
        if unused:
            raise ValueError(f"disagreement: no claim has {', '.join(sorted(unused))}")
        return self

    @property
    def published_in(self) -> str:
        """Venue, year and DOI or URL: "IEEE Systems Journal, 2017, doi:10.1109/..."; an unknown part is named."""
        at = self.url if self.doi is None else f"doi:{self.doi}"
        found = {"venue": self.venue, "year": self.year, "DOI": at}
        known = [str(value) for value in found.values() if value is not None]
        unknown = [name for name, value in found.items() if value is None]
        if unknown:
            *first, last = unknown
            known.append(f"{', '.join(first)} and {last} unknown" if first else f"{last} unknown")
        line = ", ".join(known)
        return line if line.startswith("https://") else line[0].upper() + line[1:]

    @property
    def byline(self) -> str:
        """The authors, or the title of a publication without authors."""
        return ", ".join(self.authors) or self.title

    @property
    def source(self) -> str:
        """The authors, the title and the place of publication."""
        return f"{', '.join(self.authors)}{': ' if self.authors else ''}{self.title}. {self.published_in}."

    @property
    def short_name(self) -> str:
        """The authors as papers cite them: "Kolahi and Almatrook", "Hayajneh et al."; without authors, the title."""
        surnames = [_surname(author) for author in self.authors]
        if not surnames:
            return self.title
        return f"{surnames[0]} et al." if len(surnames) > 2 else " and ".join(surnames)

    def number(self, name: str) -> Operand:
        """The point or operand of that id."""
        return next(item for item in (*self.points, *self.operands) if item.id == name)

    def point(self, name: str) -> Point:
        """The point of that id."""
        return next(item for item in self.points if item.id == name)

    def claim(self, name: str) -> Claim:
        """The claim of that id."""
        return next(item for item in self.claims if item.id == name)


def _surname(author: str) -> str:
    """The words after the last initial, or the last word of a name without initials."""
    before, initial, after = author.rpartition(". ")
    return after if initial and before else author.rpartition(" ")[2]


def _operands_of(claim: Claim) -> tuple[str, ...]:
    match claim:
        case ComparisonClaim() | Same() | AgreementClaim():
            return claim.of
        case PhyRate() | FrameRate():
            return (claim.of,)
        case _:
            return ()


def _known(where: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{where}: unknown id '{name}'")
