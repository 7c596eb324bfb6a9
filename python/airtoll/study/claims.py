"""Claims: expected comparisons between cells, as data.

A claim has one of four forms (`kind`). The claims of a paper (`airtoll.published`) and those of a study's own tables
`[[claim]]` share these forms; they differ in the factors and metrics that they may name, and in how they name their
origin. `airtoll.report` tests both by the same statistics.

| kind        | the claim                                                                                    |
|-------------|----------------------------------------------------------------------------------------------|
| ordering    | a metric is better at one level of a factor than at another                                   |
| equality    | a metric is the same at two levels of a factor                                                |
| trend       | a metric rises or falls with packet size or with the offered load                             |
| interaction | the cost of one level against another depends on the level of a second factor                 |
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NoReturn, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
)
from pydantic_core import PydanticCustomError

from airtoll.study.factors import FACTORS
from airtoll.study.probes import PROBES_OF
from airtoll.study.quantity import PACKET_SIZE, Quantity, one_of, show
from airtoll.study.values import PROBLEM, Name, Title, key, key_of, name_of, number, switch

EQUAL_PERCENT: Final = 5.0
"""Changes within this limit count as equal, unless a claim has its own limit."""

RELEVANT_PERCENT: Final = 1.0
"""Smaller changes are no relevant difference, unless a claim has its own threshold or states a smaller size."""

END: Final = ("lowest", "highest")
"""Words for the lowest and the highest level that a result has of an ordered factor."""

ORDERED: Final = ("packet_size", "offered")
"""Factors whose levels are quantities of the traffic, so that a claim may name their ends and trends."""


class CellCondition(BaseModel):
    """Levels of factors; None if a claim or a number does not state the level."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def given(self) -> dict[str, Any]:
        """The stated factors with their levels."""
        return self.model_dump(exclude_none=True)

    def agrees(self, levels: Mapping[str, Any]) -> bool:
        """Whether every stated factor that is in `levels` has the same level there."""
        return all(levels.get(name, level) == level for name, level in self.given().items())


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    where: CellCondition = CellCondition()


class _Ordered(_Form):
    relevant: float | None = None  # smallest relevant change in percent


class _Sized(_Form):
    up_to: int | None = None  # largest packet size in bytes


class OrderingForm(_Sized, _Ordered):
    """A claim that one level is better than another everywhere."""

    kind: Literal["ordering"]
    factor: str
    better: Any
    worse: Any
    at_least: float | None = None  # by how much the levels differ, in percent of the value at `percent_of`
    at_most: float | None = None
    percent_of: Literal["better", "worse"] = "worse"


class EqualityForm(_Sized):
    """A claim that a metric is the same at two levels."""

    kind: Literal["equality"]
    factor: str
    of: tuple[Any, Any]
    within: float = EQUAL_PERCENT  # in percent


class TrendForm(_Ordered):
    """A claim that a metric rises or falls with packet size or with the offered load."""

    kind: Literal["trend"]
    way: Literal["rises", "falls"]
    over: Literal["packet_size", "offered"] = "packet_size"


class InteractionForm(_Sized, _Ordered):
    """A claim that the cost of the worse level against the better one is larger at one level of a factor.

    `smaller` is the other level of that factor; None: all other levels.
    """

    kind: Literal["interaction"]
    factor: str
    better: Any
    worse: Any
    by: str
    larger: Any
    smaller: Any = None
    absolute: bool = False  # the cost in the metric's unit, not as a ratio
    alike: bool = False  # the cost is the same at both levels
    within: float = EQUAL_PERCENT  # of `alike`, in percent


Form = OrderingForm | EqualityForm | TrendForm | InteractionForm

_FORMS: Final[Mapping[str, type[Form]]] = {
    "ordering": OrderingForm,
    "equality": EqualityForm,
    "trend": TrendForm,
    "interaction": InteractionForm,
}
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "ordering": ("factor", "better", "worse"),
    "equality": ("factor", "of"),
    "trend": ("way",),
    "interaction": ("factor", "better", "worse", "by", "larger"),
}
_OPTIONAL: Final[Mapping[str, tuple[str, ...]]] = {
    "ordering": ("up_to", "at_least", "at_most", "percent_of", "relevant"),
    "equality": ("up_to", "within"),
    "trend": ("over", "relevant"),
    "interaction": ("smaller", "alike", "absolute", "up_to", "within", "relevant"),
}
_OF_KIND: Final = tuple(
    dict.fromkeys(key for keys in (_REQUIRED, _OPTIONAL) for of in keys.values() for key in of)
)


_SIZE = Quantity("a size of a change", "%", "10 %", Decimal(0), Decimal(1_000_000))
_UP_TO = Annotated[int, *number(PACKET_SIZE, int)]
_Kind = Literal["ordering", "equality", "trend", "interaction"]
_Percent = Annotated[float, *number(_SIZE, float)]
_Factor = Annotated[str, *key_of(FACTORS)]


def _scalar(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{show(value)} is not a level; give one level of the factor")
    return value


def _two(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"{show(value)} is not a list of two levels")
    return _scalar(value[0]), _scalar(value[1])


def _refuse(text: str) -> NoReturn:
    raise PydanticCustomError(PROBLEM, "{text}", {"text": text})


_LEVEL = {"anyOf": [{"type": "string"}, {"type": "number"}]}
_Level = Annotated[Any, *key(_scalar, _LEVEL)]
_Pair = Annotated[Any, *key(_two, {"type": "array", "items": _LEVEL, "minItems": 2, "maxItems": 2})]


def level_of(value: Any, factor: str | None, *, ends: bool = False) -> Any:
    """A level in the syntax of [factors]; `ends` also allows the words of `END` for an ordered factor."""
    if factor is None:  # the factor has an error of its own
        return value
    if ends and factor in ORDERED and value in END:
        return value
    try:
        return TypeAdapter(FACTORS[factor].level).validate_python(value)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        _refuse(detail.get("ctx", {}).get("text", detail["msg"]))


if TYPE_CHECKING:
    Where = CellCondition
else:
    Where = create_model(
        "Where",
        __base__=CellCondition,
        __doc__="Cells: one level of each named factor.",
        **{
            name: (
                factor.level | None,
                Field(default=None, description=f"Level of {name}{factor.measured_in}."),
            )
            for name, factor in FACTORS.items()
        },
    )


class ClaimTable(BaseModel):
    """One claim of the study, which its report tests."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    kind: Annotated[_Kind, *name_of(_Kind)] = Field(
        description=f"Form of the claim: {one_of(get_args(_Kind))}."
    )
    id: Name | None = Field(
        default=None, description="Name of the claim, unique in the study, for rules of `airtoll gate`."
    )
    title: Title | None = Field(
        default=None, description="The origin of the claim, or the claim in words; the report shows it."
    )
    metric: Annotated[str, *key_of(PROBES_OF)] = Field(description="The metric that the claim is about.")
    factor: _Factor | None = Field(
        default=None, description="The factor whose levels are compared; not for trend."
    )
    better: _Level | None = Field(
        default=None, description="For ordering and interaction: the level that is better in the metric."
    )
    worse: _Level | None = Field(
        default=None, description="For ordering and interaction: the level that is worse in the metric."
    )
    of: _Pair | None = Field(
        default=None, description="For equality: the two levels at which the metric is the same."
    )
    way: Annotated[Literal["rises", "falls"], *name_of(Literal["rises", "falls"])] | None = Field(
        default=None, description="For trend: rises or falls."
    )
    over: (
        Annotated[
            Literal["packet_size", "offered"],
            *name_of(Literal["packet_size", "offered"]),
        ]
        | None
    ) = Field(default=None, description="For trend: the factor, packet_size (default) or offered.")
    by: _Factor | None = Field(
        default=None, description="For interaction: the second factor, on whose level the cost depends."
    )
    larger: _Level | None = Field(
        default=None,
        description="For interaction: the level of `by` at which the cost of the worse level is larger; for "
        "packet_size and offered also lowest or highest.",
    )
    smaller: _Level | None = Field(
        default=None,
        description="For interaction: the level of `by` at which that cost is smaller; default: all other levels.",
    )
    alike: Annotated[bool, *switch()] = Field(
        default=False,
        description="For interaction: whether the cost is claimed to be the same at both levels.",
    )
    absolute: Annotated[bool, *switch()] = Field(
        default=False,
        description="For interaction: whether costs are differences in the metric's unit instead of ratios.",
    )
    where: Where = Field(
        default_factory=Where, description="Levels of other factors to which the claim is limited."
    )
    up_to: _UP_TO | None = Field(
        default=None, description="Largest packet size in bytes to which the claim applies; not for trend."
    )
    at_least: _Percent | None = Field(
        default=None,
        description="For ordering: smallest change from the worse to the better level, without its sign, in % (for "
        "metrics in %: in points).",
    )
    at_most: _Percent | None = Field(default=None, description="For ordering: the largest such change.")
    percent_of: Annotated[Literal["better", "worse"], *name_of(Literal["better", "worse"])] | None = Field(
        default=None,
        description="For ordering: the level whose value is 100 % for at_least and at_most, worse (default) or better; "
        "with better, at_least is a loss against the better level.",
    )
    relevant: _Percent | None = Field(
        default=None,
        description="For ordering, trend and interaction: the smallest change that counts as a difference, in % (for "
        "metrics in %: in points). Default: 1 %, or the size that the claim states, if it is smaller.",
    )
    within: _Percent | None = Field(
        default=None,
        description="For equality and interaction with alike: the largest change that counts as equal, in % "
        "(default: 5 %).",
    )

    @field_validator("better", "worse", mode="after")
    @classmethod
    def _level_of_factor(cls, value: Any, info: ValidationInfo) -> Any:
        return None if value is None else level_of(value, info.data.get("factor"))

    @field_validator("of", mode="after")
    @classmethod
    def _levels_of_factor(cls, value: Any, info: ValidationInfo) -> Any:
        return value and tuple(level_of(each, info.data.get("factor")) for each in value)

    @field_validator("larger", "smaller", mode="after")
    @classmethod
    def _level_of_second(cls, value: Any, info: ValidationInfo) -> Any:
        return None if value is None else level_of(value, info.data.get("by"), ends=True)

    def form(self) -> Form:
        """The claim in its form. Only for a claim without `faults`."""
        made = {"kind": self.kind, "metric": self.metric, "where": self.where}
        keys = (*_REQUIRED[self.kind], *_OPTIONAL[self.kind])
        given = {key: getattr(self, key) for key in keys if getattr(self, key) is not None}
        return _FORMS[self.kind].model_validate({**made, **given})


ClaimFault = tuple[tuple[str | int, ...], str]
"""Place in the table of a claim, and the error at that place."""


def faults(claim: ClaimTable, levels: Mapping[str, tuple[Any, ...]]) -> Iterator[ClaimFault]:
    """The errors of a claim whose keys are valid separately. `levels` are the levels of the study by factor."""
    yield from _faults_of_kind(claim)
    yield from _unknown_levels(claim, levels)
    yield from _contradictions(claim, levels)


def _faults_of_kind(claim: ClaimTable) -> Iterator[ClaimFault]:
    required, optional = _REQUIRED[claim.kind], _OPTIONAL[claim.kind]
    for name in required:
        if getattr(claim, name) is None:
            yield (name,), f"missing key: kind {claim.kind} requires {', '.join(required)}"
    for name in _OF_KIND:
        if name not in (*required, *optional) and getattr(claim, name) not in (None, False):
            has = ", ".join((*required, *optional))
            yield (name,), f"kind {claim.kind} does not have this key; its keys: {has}"


def _unknown_levels(claim: ClaimTable, levels: Mapping[str, tuple[Any, ...]]) -> Iterator[ClaimFault]:
    named: list[tuple[tuple[str | int, ...], str | None, Any]] = [
        *(((name,), claim.factor, getattr(claim, name)) for name in ("better", "worse")),
        *(((name,), claim.by, getattr(claim, name)) for name in ("larger", "smaller")),
        *((("of", index), claim.factor, level) for index, level in enumerate(claim.of or ())),
        *((("where", factor), factor, level) for factor, level in claim.where.given().items()),
    ]
    for place, factor, level in named:
        if factor is not None and level is not None and level not in (*levels[factor], *END):
            known = one_of([FACTORS[factor].level_text(each) for each in levels[factor]])
            text = show(FACTORS[factor].level_text(level))
            yield place, f"{text} is not a level of factors.{factor}; use {known}"


def _contradictions(claim: ClaimTable, levels: Mapping[str, tuple[Any, ...]]) -> Iterator[ClaimFault]:
    for one, other in (("better", "worse"), ("larger", "smaller")):
        if getattr(claim, one) is not None and getattr(claim, one) == getattr(claim, other):
            yield (other,), f"is the same level as {one}; a claim compares two levels"
    if claim.of is not None and claim.of[0] == claim.of[1]:
        yield ("of",), "has the same level twice; a claim compares two levels"
    if claim.factor is not None and claim.factor == claim.by:
        yield ("by",), f"is the same factor as factor, {claim.by}; an interaction has two factors"
    over = claim.over or ("packet_size" if claim.kind == "trend" else None)
    for name, factor in (("factor", claim.factor), ("by", claim.by), ("over", over)):
        if factor is not None and factor in claim.where.given():
            yield ("where", factor), f"is compared by the claim ({name}), so it cannot be fixed"
    if over is not None and len(levels[over]) < 2:
        yield ("over",), f"a trend requires several levels of factors.{over}"
    if claim.at_least is not None and claim.at_most is not None and claim.at_least > claim.at_most:
        yield ("at_most",), f"{claim.at_most:g} % is below at_least, {claim.at_least:g} %"
