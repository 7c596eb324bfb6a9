"""compare, gate, metrics and import, called like a user: on results in virtual time, and on recorded files."""

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from cli_command import Airtoll, one_line

from airtoll.cli import app
from airtoll.durable import files_in, sums
from airtoll.errors import UsageError

RECORDED = Path(__file__).parents[1] / "importers" / "recorded"

STUDY = """
title = "Small"
lab = "sim"

[factors]
security = ["open", "ccmp"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = ["256 B", "1408 B"]
phy = ["ofdm"]
rate = ["RATE"]

[method]
repeats = 4
duration = "0.3 s"
warmup = "0.1 s"
seed = SEED

[[claim]]
id = "open-better"
kind = "ordering"
metric = "throughput"
factor = "security"
better = "open"
worse = "ccmp"
"""


def refusal(*arguments: str) -> str:
    """The error line of a command that ends with exit status 2."""
    with pytest.raises(UsageError) as caught:
        app(list(arguments), standalone_mode=False)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results `a` and `again`, which differ only in their seeds, and `slower`, with another rate."""
    root = tmp_path_factory.mktemp("results")
    for name, rate, seed in (
        ("a", "54 Mbit/s", "1"),
        ("again", "54 Mbit/s", "2"),
        ("slower", "36 Mbit/s", "1"),
    ):
        study = root / f"{name}.toml"
        study.write_text(STUDY.replace("RATE", rate).replace("SEED", seed))
        app(["run", str(study), "--out", str(root / name)], standalone_mode=False)
    return root


def test_two_results_are_compared(airtoll: Airtoll, results: Path) -> None:
    done = airtoll("compare", results / "a", results / "slower", "--ignore", "rate", "--metric", "throughput")
    assert done.returncode == 0, done.stderr
    assert "4 cells compared, ignoring rate; margin 1 %" in done.stdout
    assert "Throughput: 4 differ (4 worse in B), 0 equal within the margin, 0 undecided" in done.stdout
    assert done.stdout.count("differs, worse") == 4


def test_a_comparison_selects_levels(airtoll: Airtoll, results: Path) -> None:
    arguments = ("compare", results / "a", results / "slower", "--ignore", "rate", "--metric", "throughput")
    one = json.loads(airtoll(*arguments, "--where", "security=ccmp", "--json").stdout)
    assert {each["cell"]["security"] for each in one["differences"]} == {"ccmp"}
    assert (one["cells"], one["only_a"], one["only_b"]) == (2, [], [])
    both = json.loads(
        airtoll(*arguments, "--where", "security=ccmp", "--where", "security = open", "--json").stdout
    )
    assert both["cells"] == 4


def test_equal_cells_are_counted_and_listed_with_all(airtoll: Airtoll, results: Path) -> None:
    arguments = ("compare", results / "a", results / "again", "--margin", "5", "--metric", "throughput")
    brief, full = airtoll(*arguments), airtoll(*arguments, "--all")
    assert "Throughput: 0 differ, 4 equal within the margin, 0 undecided" in brief.stdout
    assert brief.stdout.count("udp ipv4") == 0
    assert full.stdout.count("udp ipv4") == 4
    assert airtoll(*arguments, "--fail-on-difference").returncode == 0


def test_a_difference_can_fail(airtoll: Airtoll, results: Path) -> None:
    done = airtoll("compare", results / "a", results / "slower", "--ignore", "rate", "--fail-on-difference")
    assert done.returncode == 1
    assert done.stderr == ""


def test_a_comparison_as_json_and_markdown(airtoll: Airtoll, results: Path) -> None:
    arguments = ("compare", results / "a", results / "slower", "--ignore", "rate", "--metric", "throughput")
    answer = json.loads(airtoll(*arguments, "--json").stdout)
    assert answer["counts"]["differs"] == len(answer["differences"]) == 4
    row = answer["differences"][0]
    assert row["b"]["mean"] - row["a"]["mean"] == pytest.approx(row["difference"])
    assert row["difference_ci95"][0] < row["difference"] < row["difference_ci95"][1] < 0
    markdown = airtoll(*arguments, "--markdown").stdout
    assert "### Throughput, Mbit/s" in markdown
    assert markdown.count("\n| udp ipv4") == 4
    assert "mutually exclusive" in one_line(airtoll(*arguments, "--markdown", "--json"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a", "nowhere"], "nowhere: not a result directory"),
        (["a", "slower"], "rate: 54 Mbit/s in the first, 36 Mbit/s in the second; use --ignore rate"),
        (["a", "again", "--metric", "troughput"], "did you mean 'throughput'"),
        (["a", "again", "--ignore", "labs"], "did you mean 'lab'"),
        (["a", "again", "--margin", "1 s"], "--margin: '1 s' has the wrong unit"),
        (["a", "again", "--margin", "100 %"], "--margin"),
        (["a", "again", "--where", "stack"], "--where: 'stack' is not FACTOR=LEVEL, such as stack=default"),
        (["a", "again", "--where", "stak=default"], "--where: 'stak' is not a factor"),
        (["a", "again", "--where", "ip=ipv5"], "--where: 'ipv5' is not allowed; use ipv4 or ipv6"),
        (["a", "again", "--where", "security=tkip"], "no cell has security tkip; levels: open, ccmp"),
        (["a", "again", "--where", "stack=windows-8"], "no cell has stack windows-8; levels: default"),
    ],
)
def test_a_wrong_comparison_is_one_line(results: Path, arguments: list[str], words: str) -> None:
    paths = [str(results / each) if each in ("a", "again", "slower") else each for each in arguments]
    assert words in refusal("compare", *paths)


def test_rules_that_are_kept_pass(airtoll: Airtoll, results: Path) -> None:
    rules = (
        "throughput >= 5 Mbit/s",
        "cost(throughput) of ccmp <= 4 %",
        "loss = 0 %",
        "change(throughput) >= -5 %",
    )
    options = [word for rule in rules for word in ("--rule", rule)]
    done = airtoll("gate", results / "again", *options, "--against", results / "a")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(None, 1)[0] for line in lines[:4]] == ["pass"] * 4
    assert "worst udp ipv4 256 B ccmp: " in lines[0]
    assert lines[-1] == "4 of 4 rules met"


def test_a_broken_rule_fails_and_names_its_cells(airtoll: Airtoll, results: Path, tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text('rules = ["throughput >= 20 Mbit/s", "rtt <= 5 ms"]\n')
    done = airtoll("gate", results / "a", "--rules", file, "--junit", tmp_path / "ci" / "gate.xml")
    assert done.returncode == 1
    assert done.stdout.startswith(
        "FAIL      throughput >= 20 Mbit/s: 4 cells, 2 pass, 2 fail; worst udp ipv4 256 B ccmp"
    )
    assert "1 of 2 rules met" in done.stdout
    root = ET.fromstring((tmp_path / "ci" / "gate.xml").read_text())  # noqa: S314  (our own)
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    answer = json.loads(airtoll("gate", results / "a", "--rules", file, "--json").stdout)
    assert [(rule["passed"], len(rule["cells"])) for rule in answer] == [(False, 4), (True, 4)]


def test_a_rule_asks_for_the_verdict_on_a_claim(airtoll: Airtoll, results: Path) -> None:
    rules = ("--rule", "claim(open-better) = confirmed", "--rule", "claim(open-better) = opposite")
    done = airtoll("gate", results / "a", *rules)
    claim = "Throughput is higher with open than with CCMP: confirmed, 2 of 2 pairs, +"
    first, second, last = done.stdout.splitlines()
    assert first.startswith(f"pass      claim(open-better) = confirmed: {claim}")
    assert second.startswith(f"FAIL      claim(open-better) = opposite: {claim}")
    assert (done.returncode, last) == (1, "1 of 2 rules met")
    answer = json.loads(airtoll("gate", results / "a", "--json", *rules).stdout)
    assert [(rule["subject"], rule["passed"]) for rule in answer] == [("claim", True), ("claim", False)]
    (comparison,) = answer[0]["comparisons"]
    assert (comparison["verdict"], comparison["unit"]) == ("confirmed", "%")
    assert comparison["ci95"][0] < comparison["value"] < comparison["ci95"][1]


@pytest.fixture
def copy(results: Path, tmp_path: Path) -> Path:
    """A writable copy of result `a`."""
    shutil.copytree(results / "a", tmp_path / "copy")
    for path in (tmp_path / "copy").rglob("*"):
        path.chmod(0o755)
    return tmp_path / "copy"


def seal(directory: Path) -> None:
    """Recompute the checksums of a result, so that it is intact."""
    runs = sorted((directory / "runs").iterdir())
    for run in runs:
        (run / "SHA256SUMS").write_text(sums(run, files_in(run) - {"SHA256SUMS"}))
    listed = ["plan.json", "study.toml", *(f"runs/{run.name}/SHA256SUMS" for run in runs)]
    (directory / "SHA256SUMS").write_text(sums(directory, listed))


RULE = ("--rule", "loss = 0 %")


def test_a_result_that_lacks_runs_decides_nothing(airtoll: Airtoll, results: Path, copy: Path) -> None:
    first, *_ = sorted((copy / "runs").iterdir())
    shutil.rmtree(first)
    found = f"damaged: runs/{first.name}: missing; the run was finished; `airtoll verify {copy}` lists them"
    assert refusal("gate", str(copy), *RULE, "--allow-incomplete") == f"{copy}: {found}"
    assert f"warning: B is {found}" in airtoll("compare", results / "a", copy).stdout
    assert f"warning: this result is {found}" in airtoll("report", copy).stdout
    assert f"Warning: this result is damaged: runs/{first.name}: missing" in (copy / "report.md").read_text()
    seal(copy)
    assert (
        "no problems; 15 of 16 runs finished, 15 of them valid, 1 remaining" in airtoll("verify", copy).stdout
    )
    assert f"15 of 16 runs are finished: perform the others with `airtoll run --resume {copy}`" in refusal(
        "gate", str(copy), *RULE
    )
    assert airtoll("gate", copy, *RULE, "--allow-incomplete").returncode == 0


def test_a_rule_is_not_broken_by_a_result_that_cannot_be_read(results: Path, copy: Path) -> None:
    (copy / "plan.json").write_text("{")
    assert "plan.json: not JSON" in refusal("gate", str(copy), *RULE)
    assert "plan.json: not JSON" in refusal("gate", str(results / "a"), *RULE, "--against", str(copy))


def test_runs_of_two_versions_and_machines_are_named(airtoll: Airtoll, results: Path, copy: Path) -> None:
    record = sorted((copy / "runs").iterdir())[0] / "run.json"
    content = json.loads(record.read_text())
    content["versions"]["airtoll"] = "0.1.0"
    content["hosts"]["machine"]["processor"] = "another"
    record.write_text(json.dumps(content))
    assert "run.json: does not match its checksum" in airtoll("verify", copy).stdout
    seal(copy)
    verified, compared = airtoll("verify", copy), airtoll("compare", results / "a", copy)
    judged, reported = airtoll("gate", copy, *RULE), airtoll("report", copy)
    assert (verified.returncode, judged.returncode) == (0, 0)
    for output in (verified.stdout, compared.stdout, judged.stderr, reported.stdout):
        assert "the runs are of 2 versions of airtoll: " in output
        assert "0.1.0 (1 run)" in output
        assert "the runs are of 2 sets of machines: " in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no rule given: use --rule RULE"),
        (
            ["--rule", "loss = 0 %", "--rule", "los = 0 %"],
            "--rule 2: column 1: 'los' is not a metric; did you mean",
        ),
        (["--rule", "jitter <= 1 ms where packet_size=99 B"], "its packet_size is 256 B or 1408 B"),
        (["--rule", "ftp_rate >= 1 kbyte/s"], "ftp_rate was not measured in these cells"),
        (["--rule", "change(rtt) <= 1 %"], "requires --against DIR"),
        (
            ["--rule", "claim(open-bettr) = confirmed"],
            "'open-bettr' is not the id of a claim of this result; did you mean 'open-better'?",
        ),
        (
            ["--rule", "loss = 0 %", "--undecided", "maybe"],
            "--undecided: 'maybe' is not allowed; use pass or fail",
        ),
        (["--rules", "nowhere.toml"], "nowhere.toml: cannot be read"),
    ],
)
def test_an_invalid_gate_is_one_line_and_fails(results: Path, arguments: list[str], words: str) -> None:
    assert words in refusal("gate", str(results / "a"), *arguments)


def test_metrics_are_printed_or_written(airtoll: Airtoll, results: Path, tmp_path: Path) -> None:
    printed = airtoll("metrics", results / "a")
    assert printed.returncode == 0
    assert printed.stdout.endswith("# EOF\n")
    assert 'security="ccmp"' in printed.stdout
    assert airtoll("metrics", results / "a", "--out", tmp_path / "node" / "airtoll.prom").stdout == ""
    assert (tmp_path / "node" / "airtoll.prom").read_text() == printed.stdout


def test_imported_files_can_be_reported_compared_and_held_to_rules(airtoll: Airtoll, tmp_path: Path) -> None:
    link = ("--level", "phy=ofdm", "--level", "rate=54 Mbit/s", "--level", "topology=wired-ap")
    for name, security in (("first", "open"), ("second", "ccmp")):
        done = airtoll(
            "import",
            RECORDED / "iperf3-tcp-client.json",
            "--out",
            name,
            "--security",
            security,
            "--title",
            "Hall 3",
            *link,
        )
        assert done.returncode == 0, done.stderr
        assert f"0001-tcp-ipv4-1408-{security}: iperf3-tcp-client.json: valid" in done.stdout
    assert airtoll("verify", "first").returncode == 0
    report = airtoll("report", "first")
    assert report.returncode == 0, report.stderr
    assert "Hall 3" in (tmp_path / "first" / "report.md").read_text()
    compared = airtoll("compare", "first", "second", "--ignore", "security")
    assert compared.returncode == 0, compared.stderr
    assert "Throughput: 0 differ, 1 equal within the margin, 0 undecided" in compared.stdout
    assert airtoll("gate", "first", "--rule", "throughput >= 25 Mbit/s").returncode == 0
    assert airtoll("gate", "first", "--rule", "throughput >= 35 Mbit/s").returncode == 1
    assert airtoll("metrics", "first").returncode == 0


def test_the_names_of_files_tell_their_levels(airtoll: Airtoll, tmp_path: Path) -> None:
    report = json.loads((RECORDED / "iperf3-tcp-client.json").read_text())
    for security in ("open", "ccmp"):
        report["start"]["cookie"] = security
        (tmp_path / f"{security}.json").write_text(json.dumps(report))
    done = airtoll("import", "open.json", "ccmp.json", "--level", "topology=wired-ap", "--out", "result")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1] == "0002-tcp-ipv4-1408-ccmp: ccmp.json: valid (security=ccmp from its name)"
    assert "From the names: security=open or ccmp" in lines
    assert "From the contents: direction=up, ip=ipv4, offered=max, packet_size=1408 B, transport=tcp" in lines
    assert any(line.startswith("Unknown: phy, bandwidth, gi, rate. Comparisons work") for line in lines)
    (command,) = [
        line.partition(": airtoll ")[2] for line in lines if line.startswith("To correct a level: ")
    ]
    compared = airtoll("report", "result")
    assert "TCP IPv4 1408 B" in compared.stdout
    text = " ".join((tmp_path / "result" / "report.md").read_text().split())
    assert "Neither the files nor their owner told the levels of phy, bandwidth, gi, rate." in text
    assert airtoll("gate", "result", "--rule", "throughput >= 25 Mbit/s").returncode == 0
    for name, level in (("phy", "ofdm"), ("bandwidth", "20"), ("gi", "long"), ("rate", "54")):
        command = command.replace(f"{name}=LEVEL", f"{name}={level}")
    corrected = airtoll(*command.split())
    assert corrected.returncode == 0, corrected.stderr
    assert "result-corrected: 2 runs, 0 of them invalid" in corrected.stdout
    again = airtoll("import", "open.json", "--out", "result")
    assert again.stderr.strip() == "airtoll: result is not empty: give another --out"
    assert airtoll("import", "open.json").returncode == 0
    assert len(list((tmp_path / "results").glob("import-*"))) == 1


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("iperf3-udp-loss-179-percent.json", "loss <= 50 %"),
        ("iperf3-udp-negative-loss.json", "loss <= 60 %"),
        ("iperf3-udp-jitter-clock-offset.json", "jitter <= 1e12 ms"),
        ("iperf2-udp-negative-lost.txt", "loss <= 1 %"),
    ],
)
def test_a_gate_on_a_figure_that_contradicts_itself_fails(airtoll: Airtoll, name: str, rule: str) -> None:
    done = airtoll("import", RECORDED / "cases" / name, "--security", "open", "--out", "result")
    assert done.returncode == 0, done.stderr
    gate = airtoll("gate", "result", "--rule", rule)
    assert gate.returncode != 0, gate.stdout


def test_a_table_gives_each_file_its_levels(airtoll: Airtoll, tmp_path: Path) -> None:
    for name in ("tcp_download.flent.gz", "iperf3-udp-client.json", "irtt.json.gz"):
        (tmp_path / name).write_bytes((RECORDED / name).read_bytes())
    table = tmp_path / "levels.csv"
    table.write_text(
        "file,security,phy,rate,bandwidth,gi\n"
        "tcp_download.flent.gz,open,ht,auto,40,short\n"
        "iperf3-udp-client.json,ccmp,vht,mcs9,80,long\n"
        "irtt.json.gz,wep104,erp,54,,\n"
    )
    done = airtoll("import", "--levels", table, "--level", "topology=wired-ap", "--out", "all")
    assert done.returncode == 0, done.stderr
    assert "all: 3 runs, 0 of them invalid" in done.stdout
    assert airtoll("report", "all").returncode == 0
    one = airtoll("import", "irtt.json.gz", "--levels", table, "--level", "topology=wired-ap", "--out", "one")
    assert "one: 1 run, 0 of them invalid" in one.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "x"], "no files to import"),
        (["FILE", "--out", "x"], "does not tell the security level: give --security LEVEL"),
        (["FILE", "--out", "x", "--level", "phy"], "--level: 'phy' is not FACTOR=LEVEL"),
        (["FILE", "--out", "x", "--level", "fy=ht"], "--level: fy: 'fy' is not a factor"),
        (["FILE", "--out", "x", "--security", "wpa3"], "--security: security: 'wpa3' is not allowed"),
        (
            ["FILE", "--out", "x", "--security", "open", "--security", "ccmp"],
            "--security: given 2 times for 1 file",
        ),
        (
            ["FILE", "--out", "x", "--security", "open", "--level", "security=ccmp"],
            "conflicting levels of security: open and ccmp",
        ),
        (["FILE", "--out", "x", "--levels", "none.csv"], "none.csv"),
        ([str(Path(__file__)), "--out", "x"], "is not a file that airtoll imports"),
        (["FILE", "--out", "x", "--study", "tepsic"], "'tepsic' is neither a study nor a file"),
    ],
)
def test_an_invalid_import_is_one_line_and_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = str(RECORDED / "iperf3-tcp-client.json")
    assert words in refusal("import", *[file if each == "FILE" else each for each in arguments])
    assert not (tmp_path / "x").exists()
