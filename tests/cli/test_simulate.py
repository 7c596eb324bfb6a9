"""`airtoll simulate`, `model` and lab sim, called like a user."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli_command import Airtoll, one_line

SHORT = ("--duration", "200 ms", "--warmup", "0")


def answer(airtoll: Airtoll, *arguments: object) -> dict[str, Any]:
    done = airtoll("simulate", "--json", *SHORT, *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_simulate_prints_the_results_and_the_scenario_of_a_cell(airtoll: Airtoll) -> None:
    found = answer(
        airtoll, "--phy", "vht", "--bandwidth", 80, "--gi", "short", "--mcs", 9, "--streams", 3, "--seed", 4
    )
    asked = found["scenario"]
    assert (asked["phy"], asked["rate"], asked["bandwidth"], asked["streams"]) == ("vht", "mcs9", 80, 3)
    assert (asked["gi"], asked["seed"], asked["duration_s"]) == ("short", 4, 0.2)
    assert found["throughput_mbps"] > 0
    assert set(found["delay_ms"]) >= {"mean", "p50", "p95", "p99", "max"}
    assert {"jitter_ms", "loss", "airtime", "stations"} <= set(found)
    assert sum(found["airtime"].values()) == pytest.approx(1, abs=0.01)


def test_security_costs_and_stations_share(airtoll: Airtoll) -> None:
    size = ("--packet-size", 1408, "--duration", 1)
    free, sealed = (answer(airtoll, "--security", level, *size) for level in ("open", "ccmp"))
    assert 0.95 < sealed["throughput_mbps"] / free["throughput_mbps"] < 1
    many = answer(airtoll, "--stations", 5, *size)
    assert many["scenario"]["topology"] == "stations"
    assert len(many["stations"]) >= 5


def test_the_seed_determines_the_results(airtoll: Airtoll) -> None:
    first, again, other = (answer(airtoll, "--stations", 3, "--seed", seed) for seed in (1, 1, 2))
    assert first == again
    assert first["throughput_mbps"] != other["throughput_mbps"]


def test_table_and_json_have_the_same_values(airtoll: Airtoll) -> None:
    done = airtoll("simulate", *SHORT, "--stations", 3, "--security", "gcmp", "--packet-size", 500)
    assert done.returncode == 0, done.stderr
    assert "gcmp, 3 stations" in done.stdout
    figure = answer(airtoll, "--stations", 3, "--security", "gcmp", "--packet-size", 500)["throughput_mbps"]
    row = next(line for line in done.stdout.splitlines() if line.startswith("throughput"))
    assert float(row.split()[1]) == pytest.approx(figure, rel=1e-3)
    for word in ("delay", "jitter", "loss", "airtime", "payload", "station"):
        assert word in done.stdout


def test_models_stand_beside_each_other(airtoll: Airtoll) -> None:
    done = airtoll("model", "--security", "ccmp", "--stations", 5)
    assert done.returncode == 0, done.stderr
    assert "Mbit/s" in done.stdout or "mbps" in done.stdout
    found = json.loads(airtoll("model", "--json", "--security", "ccmp", "--stations", 5).stdout)
    assert found.pop("scenario")["security"] == "ccmp"
    assert len(found) > 1


def test_one_cost_leads_and_the_others_say_why_they_differ(airtoll: Airtoll) -> None:
    done = airtoll("model", "--security", "ccmp")
    lead, closed, cause = (
        next(place for place, line in enumerate(done.stdout.splitlines()) if line.startswith(start))
        for start in ("Throughput with ccmp instead of open: ", "Closed forms: ", "By cause, ")
    )
    assert lead < closed < cause
    found = json.loads(airtoll("model", "--json", "--security", "ccmp").stdout)
    change = found["throughput_change"]
    low, high = change["ci95"]
    assert low < change["percent"] < high < 0
    assert change["seeds"] == 8
    closed_forms_percent = -100 * found["single_station"]["cost_of_security"]
    assert low - 0.05 < closed_forms_percent < high + 0.05
    assert "`airtoll model` gives the cost" in airtoll("simulate", "--security", "ccmp").stdout


@pytest.mark.parametrize("arguments", [("--security", "open"), ("--security", "ccmp", "--offered", 4)])
def test_without_a_cost_of_throughput_there_is_no_such_answer(
    airtoll: Airtoll, arguments: tuple[object, ...]
) -> None:
    assert json.loads(airtoll("model", "--json", *arguments).stdout)["throughput_change"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--phy", "vht", "--mcs", "9"], "21.5"),
        (["--phy", "vht", "--mcs", "10"], "no MCS 10"),
        (["--phy", "ht", "--mcs", "40"], "--mcs: 'mcs40' is not"),
        (["--phy", "he"], "--phy: 'he' is not allowed; use dsss, ofdm, erp, ht or vht"),
        (["--rate", "55"], "--rate: 55 is not a valid rate"),
        (
            ["--rate", "866.7"],
            "mcs9 with phy vht, bandwidth 80, gi short and streams 2; or mcs9 with phy vht, bandwidth 160, gi "
            "short and streams 1",
        ),
        (["--security", "cmcp"], "; did you mean 'ccmp'?"),
        (["--rate", "54", "--mcs", "7"], "--mcs and --rate are mutually exclusive"),
        (["--window", "1"], "--window: has no effect here; it requires transport tcp and traffic saturated"),
        (["--forward-ipv4", "1"], "--forward-ipv4: requires crypto_at card"),
        (["--security", "tkip", "--phy", "vht"], "legacy_fallback lets stations fall back"),
        (
            ["--security", "sae", "--wpa-key-mgmt", "wpa-psk"],
            "--wpa-key-mgmt: security 'sae' has wpa_key_mgmt sae, pairwise ccmp",
        ),
        (["--stations", "0"], "--stations: 0 is not allowed; give a whole number from 1 to 2007"),
        (["--packet-size", "1472 kB"], "--packet-size: '1472 kB' has the wrong unit"),
        (["--snr", "[[0, 1], [2]]"], "--snr: "),
        (["--snr", "[[0, 1"], "--snr: '[[0, 1' is not a TOML list or table"),
        (["--txop-limit", "1 h"], "--txop-limit: '1 h' has the wrong unit"),
        (["--security", "tkip", "--phy", "ht", "--mcs", "7"], "tkip"),
        (["--phy", "dsss", "--rate", "1", "--preamble", "short"], "1 Mbit/s"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_status_2(
    airtoll: Airtoll, arguments: list[str], words: str
) -> None:
    for command in ("simulate", "model"):
        done = airtoll(command, *arguments)
        assert done.returncode == 2, done
        assert words.lower() in one_line(done).lower()
        assert done.stdout == ""


@pytest.mark.parametrize(
    ("key", "name", "meant"),
    [
        ("phy", "802.11ac", "vht"),
        ("phy", "n", "ht"),
        ("phy", "wifi5", "vht"),
        ("phy", "Wi-Fi 4", "ht"),
        ("security", "wpa2", "ccmp"),
        ("security", "AES", "ccmp"),
        ("security", "wpa3-personal", "sae"),
    ],
)
def test_users_names_are_understood(airtoll: Airtoll, key: str, name: str, meant: str) -> None:
    done = airtoll("model", "--json", f"--{key}", name)
    assert done.returncode == 0, done.stderr
    assert done.stdout == airtoll("model", "--json", f"--{key}", meant).stdout


def test_every_word_is_an_option_in_its_panel(airtoll: Airtoll) -> None:
    shown = airtoll("simulate", "--help").stdout
    for word in ("--phy", "--mcs", "--streams", "--crypto-at", "--wired-delay", "--fragmentation-threshold"):
        assert word in shown
    for panel in ("PHY", "Security", "Stations", "Traffic", "Access", "Channel", "Run"):
        assert f"\n{panel}:\n" in shown


def test_a_study_in_lab_sim_is_measured_verified_and_reported(
    airtoll: Airtoll, study: Path, tmp_path: Path
) -> None:
    text = study.read_text().replace('rate = ["54 Mbit/s"]', 'rate = ["54 Mbit/s"]\nsnr = ["none", 30]')
    study.write_text(f"{text}\n[link]\ndelayed_ack = false\n")
    assert "8 runs in 4 blocks, in virtual time" in airtoll("plan", study, "--lab", "sim").stdout
    done = airtoll("run", study, "--lab", "sim", "--out", "a")
    assert done.returncode == 0, done.stderr
    assert "8 of 8 runs finished, 0 of them invalid" in done.stdout
    assert airtoll("verify", "a").returncode == 0
    assert airtoll("run", study, "--lab", "sim", "--out", "b").returncode == 0
    files = [path.relative_to(tmp_path / "a") for path in (tmp_path / "a").glob("runs/*/samples.parquet")]
    assert len(files) == 8
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    refused = airtoll("run", study, "--lab", "air")
    assert refused.returncode == 2
    assert one_line(refused) == "link.delayed_ack: lab air cannot set it; lab sim can"


def test_plan_and_run_refuse_cells_that_the_medium_refuses(airtoll: Airtoll, study: Path) -> None:
    vht = study.read_text().replace('"ofdm"', '"vht"').replace('"54 Mbit/s"', '"mcs8", "mcs9"')
    study.write_text(vht)
    for command in ("plan", "run"):
        done = airtoll(command, study, "--lab", "sim")
        assert done.returncode == 2
        assert "21.5" in one_line(done)
        assert "rate mcs9" in one_line(done)
    capture = airtoll("run", "quickstart", "--lab", "sim", "--pcap")
    assert capture.returncode == 2
    assert "--pcap" in one_line(capture)
