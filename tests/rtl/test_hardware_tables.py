"""Figures derived from measurements of the hardware, and their tables beside those of Hayajneh et al."""

import pytest
from rtl_fakes import MADE, document, results, target

from airtoll.report.material.grid import Grid
from airtoll.report.parts.hardware import grids
from airtoll.rtl import DesignFigures, Results, all_figures, payload_of


def of(found: Results, point: str, target: str = "ecp5") -> DesignFigures:
    return next(one for one in all_figures(found) if (one.point, one.target) == (point, target))


def grid(found: Results, name: str) -> Grid:
    return next(one for one in grids(found) if one.name == name)


def row(of_: Grid, *begins: str) -> dict[str, str]:
    (found,) = (row for row in of_.rows if row[: len(begins)] == begins)
    return dict(zip(of_.columns, found, strict=True))


def test_rate_and_time_come_from_the_median_clock_and_the_cycles_of_a_frame() -> None:
    standard = of(results(), "standard")
    assert standard.fmax_mhz == 100  # of 90, 100 and 120
    assert (standard.fmax_least_mhz, standard.fmax_most_mhz) == (90, 120)
    assert standard.frame_ns == pytest.approx(20_000)  # 2000 cycles of 10 ns
    assert standard.gbit_per_s == pytest.approx(12_000 / 20_000)
    assert standard.mbit_per_s_per_lut == pytest.approx(600 / 950)


def test_ratios_are_against_the_standard_design_on_the_same_part() -> None:
    lanes = of(results(), "lanes2")
    assert lanes.speed_up == pytest.approx(20_000 / (500 * 20))
    assert lanes.lut_ratio == pytest.approx(2950 / 950)
    assert lanes.logic_element_ratio == pytest.approx(3000 / 1000)
    assert lanes.energy_ratio == pytest.approx(150 / 200)
    assert lanes.power_ratio == pytest.approx(2 * 0.75)
    assert of(results(), "lanes2", "cycloneive").logic_element_ratio == pytest.approx(5000 / 2000)


def test_parts_have_one_order_whichever_was_measured_first() -> None:
    found = document()
    lanes = found["points"]["lanes2"]
    lanes["targets"] = dict(reversed(lanes["targets"].items()))
    assert [one.target for one in all_figures(Results.model_validate(found))] == ["ecp5", "cycloneive"] * 2


def test_the_slower_way_counts() -> None:
    found = document()
    found["points"]["lanes2"]["cycles"]["frames"][1]["open"]["cycles_a_frame"] = 1000.0
    assert of(Results.model_validate(found), "lanes2").frame_ns == pytest.approx(20_000)


def test_values_that_were_not_measured_are_none() -> None:
    counted = of(results(), "standard", "cycloneive")
    assert counted.fmax_mhz is None
    assert counted.fmax_least_mhz is None
    assert counted.fmax_most_mhz is None
    assert counted.gbit_per_s is None
    assert counted.speed_up is None
    found = document()
    del found["points"]["standard"]
    alone = of(Results.model_validate(found), "lanes2")
    assert alone.gbit_per_s is not None
    assert alone.speed_up is None
    assert alone.lut_ratio is None
    assert alone.energy_ratio is None


def test_the_time_of_the_paper_is_between_those_of_measured_frame_sizes() -> None:
    standard = results().points["standard"]
    # 100 cycles at 16 B and 2084 cycles at 1500 B, 10 ns each
    assert payload_of(standard, "ecp5", 1000) == pytest.approx(16)
    assert payload_of(standard, "ecp5", 1000 + 9920) == pytest.approx(16 + 742)
    assert payload_of(standard, "ecp5", 900) is None
    assert payload_of(standard, "ecp5", 20_850) is None
    assert payload_of(standard, "cycloneive", 1000) is None


def test_published_figures_precede_measured_ones() -> None:
    found = results()
    assert row(grid(found, "rtl-resources"), "Published: parallel")["LE ratio"] == "2.4"
    assert row(grid(found, "rtl-timing"), "Published: standard")["Total, as printed"] == "2830"
    assert row(grid(found, "rtl-timing"), "Published: parallel")["Total, as printed"] == "770"
    assert row(grid(found, "rtl-power"), "Published: parallel")["Power ratio"] == "> 1"
    ratios = row(grid(found, "rtl-ratios"), "Published")
    assert (ratios["Time ratio"], ratios["LE ratio"]) == ("3.7", "2.4")


def test_tables_have_our_figures() -> None:
    found = results()
    timing = row(grid(found, "rtl-timing"), "Standard", "ECP5-85F")
    assert timing == {
        "Design": "Standard",
        "Part": "ECP5-85F",
        "Fmax, MHz": "100.0",
        "Tsu": "2.00",
        "Tco": "3.00",
        "Clk-Clk": "10.00",
        "Cycles per frame": "2000",
        "Total, 16 B": "1000",
        "Total, 1500 B": "20840",
        "Total, as printed": "\N{EN DASH}",
    }
    assert row(grid(found, "rtl-resources"), "Two lanes", "Cyclone IV E")["LE ratio"] == "2.50"
    # Total times of a single frame: 2084 cycles of 10 ns, 700 cycles of 20 ns.
    ratios = row(grid(found, "rtl-ratios"), "complete core: 2 lanes", "ECP5-85F")
    assert (ratios["Time ratio"], ratios["LE ratio"]) == ("1.49", "3.00")
    designs = row(grid(found, "rtl-designs-ecp5"), "Two lanes")
    assert (designs["Gbit/s"], designs["Speed-up"], designs["Energy per bit"]) == ("1.20", "2.00", "0.75")


def test_the_note_names_the_frame_length_for_the_time_of_the_paper() -> None:
    # 283 cycles: one block, and 183 of the 1984 further cycles
    assert "2830 ns for 153 B (Standard on ECP5-85F)" in grid(results(), "rtl-timing").note


def test_designs_of_cbc_and_ctr_alone_are_compared_with_their_own_standard_designs() -> None:
    found = document()
    for kind, total in (("cbc", 1000), ("ctr", 800)):
        for lanes in (1, 2):
            found["points"][f"{kind}{lanes}"] = {
                "title": f"{kind.upper()}, {lanes}",
                "group": kind,
                "parameters": {"LANES": lanes},
                "cycles": {"made": MADE, "messages": [{"message_b": 1500, "total": total // lanes}]},
                "targets": {"ecp5": target(1950 * lanes, (100.0,))},
            }
    some = Results.model_validate(found)
    cbc = of(some, "cbc2")
    assert cbc.single_frame_ns == pytest.approx(5000)
    assert (cbc.total_ratio, cbc.logic_element_ratio) == (pytest.approx(2), pytest.approx(3950 / 2000))
    assert row(grid(some, "rtl-timing"), "CTR, 1", "ECP5-85F")["Total, 1500 B"] == "8000"
    ratios = grid(some, "rtl-ratios")
    assert [line[0] for line in ratios.rows] == [
        "Published",
        "CBC: 2 lanes",
        "CTR: 2 lanes",
        *["complete core: 2 lanes"] * 2,
    ]
    # They have no framing, so they are not among the complete cores.
    assert not [line for line in grid(some, "rtl-designs-ecp5").rows if line[0].startswith(("CBC", "CTR"))]


def test_a_table_with_a_dash_names_the_command_that_measures_the_value() -> None:
    found = document()
    for point in found["points"].values():
        del point["energy"]
    del found["points"]["lanes2"]["cycles"]
    some = Results.model_validate(found)
    designs = grid(some, "rtl-designs-ecp5")
    assert row(designs, "Two lanes")["Gbit/s"] == "\N{EN DASH}"
    assert "make -C rtl synth and make -C rtl power" in designs.note
    assert "make -C rtl power" in grid(some, "rtl-power").note
    assert "not measured" not in grid(results(), "rtl-designs-ecp5").note


def test_tables_without_measurements_have_published_values() -> None:
    tables = grids(Results())
    claims, *others = tables
    assert [len(one.rows) for one in others] == [2, 2, 2, 1]
    assert {verdict for _, _, verdict, *_ in claims.rows} == {"not measured"}
    assert all("make -C rtl" in one.note for one in tables if one.name in ("rtl-power", "rtl-ratios"))


def test_claims_about_the_designs_have_verdicts_over_all_placements() -> None:
    found = document()
    for name, lanes in (("standard", 1), ("lanes2", 2)):
        found["points"][name] |= {"group": "cbc", "parameters": {"LANES": lanes}}
    rows = grid(Results.model_validate(found), "rtl-claims").rows
    # 50 MHz instead of 90 to 120, so that 700 cycles take 0.60 to 0.81 of the time of 2084 cycles.
    assert [row[2:] for row in rows] == [
        ("other size", "3.7", "1.24 to 1.65", "1"),
        ("confirmed", "2", "1.24 to 1.65", "1"),
        ("opposite", "< 1", "1.80 to 2.40", "1"),
        ("other size", "2.4", "2.50 to 3.00", "2"),
        ("confirmed", "> 1", "1.25 to 1.67", "1"),
        ("confirmed", "< 1", "0.75", "1"),
    ]
    found["points"]["lanes2"]["targets"]["ecp5"] = target(2950, (35.0, 50.0))
    time_ratio = grid(Results.model_validate(found), "rtl-claims").rows[0]
    assert time_ratio[2] == "not confirmed"
