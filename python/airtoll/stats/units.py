"""The units of replication: one number per cell and unit, the mean of the cell's runs in the unit.

A block has one run of a cell, so the unit is the run. If the access point is switched by session, a block has one
session of every setting of the access point, with several runs of a cell. These runs share everything that changes only
between sessions: the association, the channel, the placement of the hosts. They are not independent of each other, so
the unit is the session, like the whole plot in a split-plot design (Yates 1935, "Complex experiments", Supplement to
the Journal of the Royal Statistical Society 2). An interval over the runs would be too narrow.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from statistics import fmean

from airtoll.stats.metrics import RunNumber
from airtoll.study.cell import Cell, Run

ByUnit = Mapping[str, Mapping[Cell, Mapping[int, float]]]
"""Numbers by metric, cell and unit, in the metric's unit."""


def by_unit(values: Iterable[RunNumber], runs: Iterable[Run], unit: Callable[[Run], int]) -> ByUnit:
    """The mean of each cell's runs in each unit. `unit` gives a run's block or round.

    None and NaN are missing values. Values of other runs are ignored.
    """
    of_id = {run.id: run for run in runs}
    found: dict[str, dict[Cell, dict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for run_id, metric, value in values:
        if (run := of_id.get(run_id)) is not None and value is not None and not math.isnan(value):
            found[metric][run.cell][unit(run)].append(value)
    return {
        metric: {cell: {one: fmean(of_one) for one, of_one in units.items()} for cell, units in cells.items()}
        for metric, cells in found.items()
    }
