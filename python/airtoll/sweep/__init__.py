"""Large grids of cells in virtual time, into one table.

    grid file -> Grid -> cells -> workers (threads, or a Dask cluster) -> Journal -> table

1. `grid`: the file: the words of a scenario, any of which may be a list, to the list of cells.
2. `workers`: performs cells, many at a time, on the cores of this machine; `cluster`: on a Dask cluster.
3. `journal`: what is measured so far, a line a cell, appended as each ends.
4. `table`: the journal as one table, in the order of the cells, whatever the order in which they ended.

It reads `study` (the words), `labs.sim` (how a scenario is performed), `store.durable` (files that are there as a whole
or not at all) and `store.origin` (which code and machine perform a cell). A study measures with replicates, pairs and
verdicts; a sweep maps a large space.
"""
