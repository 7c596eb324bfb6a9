"""Large grids of cells in virtual time, in one table.

    grid file -> Grid -> cells -> workers (threads, or a Dask cluster) -> Journal -> table

1. `grid`: from the grid file to the list of cells. Its keys are those of a scenario; each value may be a list.
2. `workers`: simulates many cells at the same time on the cores of this machine; `cluster`: on a Dask cluster.
3. `journal`: the answers so far, one line per cell, appended when each cell ends.
4. `table`: the journal as one table, in the order of the grid, independent of the order in which cells ended.

It uses `study` (the keys), `labs.sim` (how a scenario is simulated), `durable` (files that exist completely or
not at all) and `store.origin` (the code and the machine that simulated a cell). A study measures with replicates, pairs
and verdicts; a sweep maps a large space.
"""
