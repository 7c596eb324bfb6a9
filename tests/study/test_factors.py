"""Each factor is declared once, and types that repeat its name agree with the declaration."""

from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest

from airtoll.published.words import Condition
from airtoll.study import Cell, Scenario
from airtoll.study.factors import FACTORS, LATER_FACTORS, Factor
from airtoll.study.schema import QuickFactors

each = pytest.mark.parametrize("factor", FACTORS.values(), ids=FACTORS)


def plain(kind: Any) -> set[Any]:
    """A type without its validators, as the set of its literals and other types."""
    if get_origin(kind) is Annotated:
        return plain(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return set(get_args(kind))
    return set().union(*map(plain, get_args(kind))) if get_args(kind) else {kind}


def test_a_cell_has_every_factor_and_the_lab() -> None:
    assert set(Cell.model_fields) == {"lab", *FACTORS}


@each
def test_a_cell_takes_type_and_default_from_the_declaration(factor: Factor) -> None:
    assert plain(get_type_hints(Cell)[factor.name]) == plain(factor.level)
    field = Cell.model_fields[factor.name]
    assert field.is_required() == factor.first_version
    if not factor.first_version:
        assert field.default == LATER_FACTORS[factor.name] == factor.default


@each
def test_a_scenario_has_the_word_that_the_factor_declares(factor: Factor) -> None:
    assert (factor.name in Scenario.model_fields) == (factor.word is not None)
    if factor.word is not None:
        field = Scenario.model_fields[factor.name]
        assert (field.default, field.description) == (factor.word.default, factor.word.text)


@each
def test_a_published_condition_names_factors_with_the_same_levels(factor: Factor) -> None:
    if factor.name in Condition.model_fields and factor.name != "stack":
        said = plain(get_type_hints(Condition)[factor.name])
        assert said == {*plain(factor.level), type(None)}


@each
def test_a_lab_has_only_levels_that_a_study_has(factor: Factor) -> None:
    for levels in factor.labs.values():
        for level in levels:
            QuickFactors.model_validate({factor.name: [level]})
