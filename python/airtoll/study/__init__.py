"""From a study file to the list of runs.

    studies/*.toml --load--> Study --expand--> Plan --> labs, probes, store

- `quantity`: numbers with units ("1.5 s", "1408 B"), and how messages show values.
- `values`: types for the values of keys; `link`: settings of the link.
- `security`: security profiles, whose names are the levels of the factor `security`.
- `factors`: the declaration of every factor: levels, unit, default, labs, option, words.
- `probes`: the declaration of every probe that a study can name; `labs`: that of every lab.
- `schema`: the file's keys as models, each with its unit. docs/reference/study.schema.json derives from them.
- `rules`: incompatible levels. Only the medium (`_rust`) knows the rules of PHYs, rates and topologies.
- `load`: finds, reads and checks a file. Every error is a UsageError of one line: file, key, allowed values.
- `plan`: crosses the factors and orders the runs in randomised paired blocks, or in sessions if the access point is
  hard to change; `describe` summarises a plan.
- `cell`: the types that the later stages read: Cell, Run, Method, Plan.
- `scenario`: one cell in virtual time with the same keys, and as JSON for the medium.

Except for reading the one file, everything is pure: no clock, no random generator, no network. A plan depends only on
the file, so it can be derived again years later and compared with the contents of a result directory.
"""

from airtoll.study.cell import Cell, Method, Plan, Run
from airtoll.study.factors import FACTORS, GuardInterval, Ip, Phy, Topology, Transport, level_text
from airtoll.study.link import LinkSettings
from airtoll.study.load import Study, find_study, load_study, shipped_studies
from airtoll.study.plan import (
    OVERHEAD_S,
    PlanDescription,
    PlanRow,
    cells_of_study,
    describe,
    estimate_s,
    expand,
    levels_of,
    switches,
    varying_factors,
)
from airtoll.study.scenario import Scenario, WordError, read_scenario, scenario_of
from airtoll.study.schema import json_schema, schema_text
from airtoll.study.security import READY_MADE, Security, SecurityProfile

__all__ = [
    "FACTORS",
    "OVERHEAD_S",
    "READY_MADE",
    "Cell",
    "GuardInterval",
    "Ip",
    "LinkSettings",
    "Method",
    "Phy",
    "Plan",
    "PlanDescription",
    "PlanRow",
    "Run",
    "Scenario",
    "Security",
    "SecurityProfile",
    "Study",
    "Topology",
    "Transport",
    "WordError",
    "cells_of_study",
    "describe",
    "estimate_s",
    "expand",
    "find_study",
    "json_schema",
    "level_text",
    "levels_of",
    "load_study",
    "read_scenario",
    "scenario_of",
    "schema_text",
    "shipped_studies",
    "switches",
    "varying_factors",
]
