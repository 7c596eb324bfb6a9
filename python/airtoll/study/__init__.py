"""What to measure: from a study file to the list of runs.

    studies/*.toml --load--> Study --expand--> Plan --> labs, probes, store

- `schema`: the file's keys as models, each with its unit; they also make docs/study.schema.json.
- `quantity`: numbers with units ("1.5 s", "1408 B"), and how a message shows a value.
- `rules`: which levels cannot go together, and what forbids it.
- `load`: finds, reads and checks a file. Every fault is a UsageError of one line: file, key, what is allowed.
- `plan`: crosses the factors and orders the runs in randomised paired blocks; `describe` is for people.
- `cell`: the types that the later stages read: Cell, Run, Method, Plan.

All of it is pure but for the reading of the one file: no clock, no random generator, no network. A plan
follows from the file alone, so it can be made again years later and compared with what a result directory
says was done.
"""

from airtoll.study.cell import Cell, GuardInterval, Ip, Method, Phy, Plan, Run, Security, Topology, Transport
from airtoll.study.load import Study, find_study, load_study, shipped_studies
from airtoll.study.plan import (
    OVERHEAD_S,
    PROBES_IN_TURN,
    PlanDescription,
    PlanRow,
    describe,
    estimate_s,
    expand,
    levels_of,
)
from airtoll.study.schema import FACTORS, json_schema, level_text, schema_text

__all__ = [
    "FACTORS",
    "OVERHEAD_S",
    "PROBES_IN_TURN",
    "Cell",
    "GuardInterval",
    "Ip",
    "Method",
    "Phy",
    "Plan",
    "PlanDescription",
    "PlanRow",
    "Run",
    "Security",
    "Study",
    "Topology",
    "Transport",
    "describe",
    "estimate_s",
    "expand",
    "find_study",
    "json_schema",
    "level_text",
    "levels_of",
    "load_study",
    "schema_text",
    "shipped_studies",
]
