"""Tables [[factors.where]] and [[link.where]]: levels and settings of some cells of a study."""

import re
from pathlib import Path

import pytest

from airtoll.errors import UsageError
from airtoll.labs import open_lab
from airtoll.labs.sim import Sim
from airtoll.probes import probes_of
from airtoll.study import Plan, Study, expand, load_study

PAGE = Path(__file__).parents[2] / "docs/reference/study-files.md"
SECTION = PAGE.read_text(encoding="utf-8").split("\n## Levels and settings of some cells\n")[1]
EXAMPLE = SECTION.split("```toml\n")[1].split("```")[0]


def load(tmp_path: Path, text: str) -> Study:
    file = tmp_path / "study.toml"
    file.write_text(text, encoding="utf-8")
    return load_study(file)


def levels(plan: Plan) -> set[tuple[str, str, int]]:
    return {(run.cell.phy, run.cell.rate, run.cell.bandwidth) for run in plan.runs}


def test_the_example_has_a_rate_a_width_and_a_card_per_phy(tmp_path: Path) -> None:
    study = load(tmp_path, EXAMPLE)
    plan = Plan.model_validate_json(expand(study).model_dump_json(), strict=True)  # as a result stores it
    assert levels(plan) == {("ofdm", "54 Mbit/s", 20), ("vht", "mcs7", 80), ("vht", "mcs9", 80)}
    assert len(plan.runs) == 3 * 2 * study.method.repeats
    lab = open_lab("sim", plan)
    assert isinstance(lab, Sim)
    clocks = {}
    for cell in {run.cell for run in plan.runs}:
        with lab.open(cell, seed=1) as link:
            clocks.setdefault(cell.phy, set()).add(link.facts["scenario"]["processor"]["clock_mhz"])
    assert clocks == {"ofdm": {240}, "vht": {1200}}
    (probe,) = probes_of(plan.method.probes, "sim")
    short = plan.method.model_copy(update={"duration": 0.1, "warmup": 0.0})
    with lab.open(plan.runs[0].cell, seed=1) as link:
        assert any(sample.value for sample in probe.measure(link, plan.runs[0].cell, short).samples)


def test_tables_change_neither_order_nor_seeds_of_other_cells(tmp_path: Path) -> None:
    without = EXAMPLE.replace('phy = ["ofdm", "vht"]', 'phy = ["ofdm"]')
    alone = re.sub(r"\[\[factors\.where\]\].*?\n\n", "", without, flags=re.DOTALL)
    alone = re.sub(r"\[\[link\.where\]\].*?\n\n", "", alone, flags=re.DOTALL)
    of_both = [run for run in expand(load(tmp_path, EXAMPLE)).runs if run.cell.phy == "ofdm"]
    of_one = expand(load(tmp_path, alone)).runs
    assert [(run.seed, run.cell) for run in of_both] == [(run.seed, run.cell) for run in of_one]


def test_a_quick_run_keeps_levels_in_each_part(tmp_path: Path) -> None:
    quick = '\n[quick]\nrepeats = 1\n[quick.factors]\nrate = ["54 Mbit/s", "mcs9"]\n'
    plan = expand(load(tmp_path, EXAMPLE + quick), quick=True)
    assert levels(plan) == {("ofdm", "54 Mbit/s", 20), ("vht", "mcs9", 80)}
    one = quick.replace(', "mcs9"', "").replace("rate =", 'phy = ["vht"]\nrate =')
    assert levels(expand(load(tmp_path, EXAMPLE + one), quick=True)) == {
        ("vht", "mcs7", 80),
        ("vht", "mcs9", 80),
    }


def test_the_last_table_applies(tmp_path: Path) -> None:
    more = '[[factors.where]]\nlevels = { phy = "vht", ip = "ipv4" }\nrate = ["mcs5"]\n\n[link]'
    assert levels(expand(load(tmp_path, EXAMPLE.replace("[link]", more, 1)))) == {
        ("ofdm", "54 Mbit/s", 20),
        ("vht", "mcs5", 80),
    }


def test_lab_hosts_has_one_place_of_keys_in_every_part(tmp_path: Path) -> None:
    text = EXAMPLE.replace('bandwidth = ["80 MHz"]', 'bandwidth = ["80 MHz"]\ncrypto_at = ["card"]')
    assert {run.cell.crypto_at for run in expand(load(tmp_path, text), lab="hosts").runs} == {"host"}


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('"mcs9"]', '"54 Mbit/s"]', "factors.rate[0]: with phy vht: '54 Mbit/s' is not one of mcs0 to mcs9"),
        ('"mcs9"]', '"mcs12"]', "factors.where[0].rate[1]: with phy vht: "),
        ('["80 MHz"]', '["80 GHz"]', "factors.where[0].bandwidth[0]: '80 GHz' has the wrong unit"),
        (
            '"vht" }\nrate',
            '"ht" }\nrate',
            "factors.where[0].levels.phy: 'ht' is not a level of factors.phy; use",
        ),
        ('phy = "vht" }\nrate', "}\nrate", "factors.where[0].levels: names no level: select the cells"),
        (
            'phy = "vht" }\nrate',
            'phy = "vht", rate = "54 Mbit/s" }\nrate',
            "factors.where[0].levels.rate: rate cannot select the cells",
        ),
        (
            'phy = "vht" }\nrate',
            'security = "ccmp" }\nrate',
            "factors.where[0].levels.security: security cannot select the cells",
        ),
        ('rate = ["mcs7", "mcs9"]\nbandwidth = ["80 MHz"]\n', "", "factors.where[0]: names no levels"),
        ("\nbandwidth", "\nbandwith", "factors.where[0].bandwith: unknown key; known keys: levels, security"),
        ("[[factors.where]]", "[factors.where]", "factors.where: a table is not a list of tables: write [["),
        ('processor_clock = "1200 MHz"\n', "", "link.where[0]: names no setting of the link"),
        ('"1200 MHz"', '"1200 s"', "link.where[0].processor_clock: '1200 s' has the wrong unit"),
        (
            'processor_clock = "1200 MHz"',
            'host_byte = "2 ns"',
            "link.where[0].host_byte: requires crypto_at host",
        ),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(tmp_path: Path, old: str, new: str, error: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(UsageError) as caught:
        load(tmp_path, EXAMPLE.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path}/study.toml: {error}")


def test_without_a_table_the_error_names_it(tmp_path: Path) -> None:
    text = re.sub(r"\[\[factors\.where\]\].*?\n\n", "", EXAMPLE, flags=re.DOTALL)
    with pytest.raises(UsageError, match=r"a table \[\[factors.where\]\] gives phy vht a rate of its own"):
        load(tmp_path, text)
