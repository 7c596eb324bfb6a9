"""A grid file is crossed into cells, each once and in the order of the file, or rejected with one line."""

import json
from pathlib import Path

import pytest

from airtoll.errors import UsageError
from airtoll.study.contract import KEYS
from airtoll.sweep import grid
from airtoll.sweep.grid import CELLS_MAX, SweepGrid, load_grid

EXAMPLE = Path(__file__).parents[2] / "docs" / "how-to" / "sweep-example.toml"


def load(tmp_path: Path, text: str, impossible: str = "nothing") -> SweepGrid:
    """The grid of this text, with a medium that rejects scenarios that contain `impossible`."""

    def check(scenario: str) -> None:
        if impossible in scenario:
            raise ValueError(f"{impossible} cannot be (Table 21-30)")

    path = tmp_path / "grid.toml"
    path.write_text(text)
    return load_grid(path, check)


def cells(grid: SweepGrid, *words: str) -> list[tuple[object, ...]]:
    return [tuple(json.loads(cell).get(word) for word in words) for cell in grid.cells]


def test_any_word_may_be_a_list_and_all_lists_are_crossed(tmp_path: Path) -> None:
    grid = load(tmp_path, 'seed = [7, 8]\nrate = [6, "54 Mbit/s"]\nduration = "100 ms"\n')
    assert cells(grid, "rate", "seed", "duration_s") == [
        ("6 Mbit/s", 7, 0.1),
        ("6 Mbit/s", 8, 0.1),
        ("54 Mbit/s", 7, 0.1),
        ("54 Mbit/s", 8, 0.1),
    ]
    assert grid.levels == {"rate": 2, "seed": 2}


def test_each_grid_has_the_words_above_it_and_may_say_otherwise(tmp_path: Path) -> None:
    text = """
title = "Two PHYs"
security = ["open", "ccmp"]
seed = "1..2"
[[grid]]
phy = "ofdm"
rate = 54
[[grid]]
phy = "vht"
rate = "mcs7"
seed = 9
"""
    grid = load(tmp_path, text)
    assert grid.title == "Two PHYs"
    assert cells(grid, "phy", "security", "seed") == [
        ("ofdm", "open", 1),
        ("ofdm", "open", 2),
        ("ofdm", "ccmp", 1),
        ("ofdm", "ccmp", 2),
        ("vht", "open", 9),
        ("vht", "ccmp", 9),
    ]


def test_the_order_of_keys_in_the_file_does_not_matter(tmp_path: Path) -> None:
    lines = ["seed = [1, 2]", "stations = [1, 5]", 'security = ["open", "gcmp"]']
    grids = [load(tmp_path, "\n".join(order)) for order in (lines, lines[::-1])]
    assert grids[0].cells == grids[1].cells
    assert grids[0].digest == grids[1].digest
    assert load(tmp_path, "seed = [2, 1]").digest != load(tmp_path, "seed = [1, 2]").digest


def test_a_cell_of_two_grids_is_listed_once(tmp_path: Path) -> None:
    grid = load(tmp_path, "[[grid]]\nseed = [1, 2]\n[[grid]]\nseed = [2, 3]\n")
    assert cells(grid, "seed") == [(1,), (2,), (3,)]
    assert grid.repeated == 1


def test_a_matrix_is_one_level_and_a_list_of_them_several(tmp_path: Path) -> None:
    one = load(tmp_path, "snr = [[0, 20], [20, 0]]\nhears = [[1, 1], [1, 1]]")
    assert cells(one, "snr_db", "hears") == [([[0, 20], [20, 0]], [[1, 1], [1, 1]])]
    assert len(load(tmp_path, "snr = [[[0, 20], [20, 0]], [[0, 9], [9, 0]]]").cells) == 2
    assert cells(load(tmp_path, 'snr = ["none", 20]'), "snr_db") == [(None,), (20.0,)]


@pytest.mark.parametrize("key", [name for name, declared in KEYS.items() if declared.crypto_at is not None])
def test_every_key_of_a_processor_can_be_swept(tmp_path: Path, key: str) -> None:
    place = KEYS[key].crypto_at
    levels = [f"'{word}'" for word in KEYS[key].values.words[:2]] or ["1", "2"]
    cell = "ip = ['ipv4', 'ipv6']\nsecurity = 'ccmp'"
    grid = load(tmp_path, f"crypto_at = '{place}'\n{key} = [{', '.join(levels)}]\n{cell}")
    found = {json.dumps(processor) for (processor,) in cells(grid, "processor")}
    assert len(found - {"null"}) == len(levels)
    assert all(KEYS[key].json[-1] in each for each in found - {"null"})
    beside = load(tmp_path, f"crypto_at = ['host', 'card']\n{key} = {levels[0]}\nsecurity = 'ccmp'")
    assert ("host",) in cells(beside, "crypto_at")


def test_an_impossible_cell_refuses_the_grid_or_is_left_out(tmp_path: Path) -> None:
    text = 'phy = "vht"\nrate = ["mcs8", "mcs9"]\nbandwidth = [20, 80]\n'
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text, impossible='"mcs9","bandwidth":20')
    assert str(caught.value).startswith(f"{tmp_path}/grid.toml: grid: ")
    assert "cannot be (Table 21-30) (rate mcs9, bandwidth 20)" in str(caught.value)
    grid = load(tmp_path, f'impossible = "skip"\n{text}', impossible='"mcs9","bandwidth":20')
    assert cells(grid, "rate", "bandwidth") == [("mcs8", 20), ("mcs8", 80), ("mcs9", 80)]
    assert (grid.skipped, grid.repeated) == (1, 0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("statons = 1", "statons: unknown key; did you mean 'stations'?"),
        ("[[grid]]\nseed = 1\n[[grid]]\nphi = 'vht'", "grid[1].phi: unknown key; did you mean 'phy'?"),
        ("[grid]\nseed = 1", "grid: must be a list of tables: [[grid]]"),
        ("rate = [6, 55]", "rate[1]: 55 is not a valid rate"),
        ("rate = 55", "rate: 55 is not a valid rate"),
        ("[[grid]]\nstations = [0]", "grid[0].stations[0]: 0 is not allowed"),
        ("seed = [1, 2, 1]", "seed[2]: 1 is a duplicate"),
        ("packet_size = [100, '100 B']", "packet_size[1]: '100 B' is a duplicate"),
        ("seed = []", "seed: the list is empty"),
        ("seed = '5..1'", "seed: '5..1' is not allowed"),
        (
            f"stations = '1..10'\nseed = '1..{CELLS_MAX // 10 + 1}'",
            f"grid: expands to {CELLS_MAX + 10} cells",
        ),
        (
            "stations = '1..100'\nseed = '1..1000000000000'",
            "seed: '1..1000000000000' has 1000000000000 levels; a sweep may have at most 250000 cells",
        ),
        ("[[grid]]\nstations = '1..1000000000000'", "grid[0].stations: '1..1000000000000' has 1000000000000"),
        ("streams = '0..999999999999999'", "streams: '0..999999999999999' has 1000000000000000 levels"),
        ("forward_ipv4 = 2", "forward_ipv4: requires crypto_at card"),
        ("[[grid]]\ncrypto_at = 'card'\nhost_byte = 2", "grid[0].host_byte: requires crypto_at host"),
        ("impossible = 'perhaps'", "impossible: 'perhaps' is not allowed; use refuse or skip"),
        ("title = 3", "title: 3 is not a string"),
        ("seed = = 3", "line 1, column 8: not TOML"),
    ],
)
def test_an_error_names_file_and_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text)
    line = str(caught.value)
    assert line.startswith(f"{tmp_path}/grid.toml: ")
    assert says in line
    assert "\n" not in line


def test_the_cells_of_a_grid_have_a_limit_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell repeats the matrix: a grid of 80 kB would take 20 GB."""
    monkeypatch.setattr(grid, "CELLS_MAX_B", 1 << 20)
    text = f"stations = 100\ntopology = 'stations'\nhears = {[[1] * 101] * 101}\nseed = '1..250000'"
    with pytest.raises(UsageError, match=r"grid: its cells have more than 1 MiB: divide the grid$"):
        load(tmp_path, text)


def test_a_grid_without_possible_cells_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contains no valid cell"):
        load(tmp_path, 'impossible = "skip"', impossible="ofdm")


def test_the_example_is_a_grid() -> None:
    assert len(load_grid(EXAMPLE, lambda _scenario: None).cells) > 100
