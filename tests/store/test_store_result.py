"""A result directory returns the stored data, has one recorder at a time, and reports why it rejects something."""

import fcntl
import json
import math
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_fakes import RAW, STUDY, content_of, make_plan, make_record, sample, throughput_samples

from airtoll.errors import AirtollError, UsageError
from airtoll.probes.base import Sample
from airtoll.store import COLUMNS, SCHEMA_VERSION, FinishedRun, Result, Samples, default_directory
from airtoll.store.origin import Origin

INT64 = st.integers(-(2**63), 2**63 - 1)
SAMPLES = st.builds(
    Sample,
    probe=st.text(max_size=8),
    metric=st.text(max_size=8),
    unit=st.sampled_from(["bit/s", "ms", "µs", "1", ""]),
    endpoint=st.text(max_size=8),
    direction=st.sampled_from(["up", "down", "both", ""]),
    t_ns=INT64,
    dur_ns=INT64,
    value=st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**40),
    phase=st.sampled_from(["warmup", "measure"]),
)


def rows_of(samples: Samples) -> Iterator[tuple[Any, ...]]:
    columns = [list(getattr(samples, name)) for name in COLUMNS if name != "run"]
    for *before, value, phase in zip(*columns, strict=True):
        yield (samples.run, *before, None if math.isnan(value) else value, phase)


def create(directory: Path, runs: int = 3) -> Result:
    return Result.create(directory, STUDY, make_plan(runs), "fake", quick=False)


def write_all(result: Result) -> None:
    for run in result.pending():
        result.write(make_record(run), throughput_samples(), RAW)


@settings(max_examples=40)
@given(
    st.lists(st.lists(SAMPLES, max_size=6), min_size=2, max_size=2),
    st.dictionaries(
        st.from_regex(r"[a-z0-9]{1,8}/[A-Za-z0-9_]{1,8}\.json", fullmatch=True), st.binary(), max_size=3
    ),
)
def test_a_result_is_read_back_as_written(samples: list[list[Sample]], raw: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as tmp:
        directory = Path(tmp) / "result"
        with create(directory, runs=2) as result:
            written = [make_record(run) for run in result.pending()]
            for record, own in zip(written, samples, strict=True):
                result.write(record, own, raw)
        read = Result.open(directory)
        assert read.verify() == []
        assert read.plan == make_plan(2)
        assert read.study_text == STUDY
        assert read.records() == written
        assert read.finished() == {run.id for run in make_plan(2).runs}
        expected = [
            (record.run.id, *(getattr(one, name) for name in COLUMNS if name != "run"))
            for record, own in zip(written, samples, strict=True)
            for one in own
        ]
        assert [row for samples in read.samples() for row in rows_of(samples)] == expected
        for record in written:
            stored = content_of(read.run_directory(record.run.id) / "raw")
            assert stored == raw


def test_a_result_without_runs_has_an_empty_table_of_samples(tmp_path: Path) -> None:
    result = create(tmp_path / "r")
    assert result.samples() == []
    assert result.records() == []
    assert result.pending() == make_plan().runs
    assert result.verify() == []


def test_runs_are_read_in_the_order_of_the_plan_whatever_order_they_were_stored_in(tmp_path: Path) -> None:
    result = create(tmp_path / "r")
    for run in reversed(result.plan.runs):
        result.write(make_record(run), [sample()], {})
    ids = [run.id for run in result.plan.runs]
    assert [record.run.id for record in result.records()] == ids
    assert [(samples.run, len(samples)) for samples in result.samples()] == [(run_id, 1) for run_id in ids]


def test_any_directory_name_will_do(tmp_path: Path) -> None:
    result = create(tmp_path / "a=b" / "[1]* %2 ünï")
    write_all(result)
    assert result.verify() == []
    assert sum(map(len, result.samples())) == 12


def test_checksums_equal_those_of_sha256sum(tmp_path: Path) -> None:
    result = create(tmp_path / "r")
    write_all(result)
    roots = [result.directory, *(result.run_directory(run.id) for run in result.plan.runs)]
    for root in roots:
        done = subprocess.run(
            ["sha256sum", "--strict", "-c", "SHA256SUMS"],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        listed = {line.rsplit(": ", 1)[0] for line in done.stdout.splitlines()}
        wanted = (
            {"study.toml", "plan.json", *(f"runs/{run.id}/SHA256SUMS" for run in result.plan.runs)}
            if root == result.directory
            else set(content_of(root)) - {"SHA256SUMS"}
        )
        assert listed == wanted


def test_a_finished_result_has_no_temporary_files(tmp_path: Path) -> None:
    with create(tmp_path / "r") as result:
        write_all(result)
    assert sorted(os.listdir(tmp_path / "r")) == ["SHA256SUMS", "plan.json", "runs", "study.toml"]
    assert sorted(os.listdir(tmp_path / "r" / "runs")) == [run.id for run in make_plan().runs]


def test_stored_files_are_read_only_and_yet_a_result_can_be_removed(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    capture.write_bytes(b"pcap")
    result = create(tmp_path / "r")
    run = result.plan.runs[0]
    result.write(make_record(run), [], {"air.pcap": capture})
    assert not capture.exists()
    stored = [path for path in (result.directory / "runs").rglob("*") if path.is_file()]
    assert {path.name for path in stored} == {"run.json", "samples.parquet", "air.pcap", "SHA256SUMS"}
    for path in stored:
        assert stat.S_IMODE(path.stat().st_mode) & 0o222 == 0
    for directory in (path for path in result.directory.rglob("*") if path.is_dir()):
        assert directory.stat().st_mode & stat.S_IWUSR
    shutil.rmtree(result.directory)


def test_a_file_from_another_file_system_is_moved_in_too(tmp_path: Path) -> None:
    shm = Path("/dev/shm")  # noqa: S108 - only because it is another file system
    if not shm.is_dir() or shm.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has no second file system at /dev/shm")
    result = create(tmp_path / "r")
    with tempfile.NamedTemporaryFile(dir=shm, delete=False) as file:
        file.write(b"pcap")
    run = result.plan.runs[0]
    result.write(make_record(run), [], {"air.pcap": Path(file.name)})
    assert not Path(file.name).exists()
    assert (result.run_directory(run.id) / "raw" / "air.pcap").read_bytes() == b"pcap"
    assert result.verify() == []


def test_a_stored_run_is_never_written_again(tmp_path: Path) -> None:
    result = create(tmp_path / "r")
    write_all(result)
    before = content_of(result.directory / "runs")
    with pytest.raises(AirtollError, match=f"run {result.plan.runs[0].id} is already stored in "):
        result.write(make_record(result.plan.runs[0]), [], {})
    assert content_of(result.directory / "runs") == before


def test_a_run_that_is_not_in_the_plan_is_refused(tmp_path: Path) -> None:
    result = create(tmp_path / "r", runs=2)
    with pytest.raises(AirtollError, match="not in the plan"):
        result.write(make_record(make_plan(3).runs[2]), [], {})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_not_a_number_is_refused(tmp_path: Path, value: float) -> None:
    result = create(tmp_path / "r")
    with pytest.raises(AirtollError, match=f"iperf3 returned {value} for throughput"):
        result.write(make_record(result.plan.runs[0]), [sample(value=value)], {})
    assert os.listdir(result.directory / "runs") == []


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a//b", ".hidden", "a/../b", "a\nb", "back\\slash", "", "a b/"]
)
def test_raw_files_stay_in_their_place(tmp_path: Path, name: str) -> None:
    result = create(tmp_path / "r")
    with pytest.raises(AirtollError, match="cannot be the name of a file"):
        result.write(make_record(result.plan.runs[0]), [], {name: b""})
    assert os.listdir(result.directory / "runs") == []


def test_create_accepts_an_empty_directory(tmp_path: Path) -> None:
    assert create(tmp_path).verify() == []


def test_create_refuses_an_existing_directory_and_names_resume(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match=r"is not empty: use --resume"):
        create(tmp_path)
    assert content_of(tmp_path) == {"mine.txt": b"keep"}
    with pytest.raises(UsageError, match="is not a directory"):
        create(tmp_path / "mine.txt")
    with pytest.raises(AirtollError, match=r"cannot create result directory .*: Not a directory"):
        create(tmp_path / "mine.txt" / "below")


def test_open_refuses_a_directory_without_a_result(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "absent"):
        with pytest.raises(UsageError, match="not a result directory"):
            Result.open(directory)


def test_a_newer_format_is_refused_by_name(tmp_path: Path) -> None:
    with create(tmp_path / "r") as result:
        write_all(result)
    newer = SCHEMA_VERSION + 1
    run_json = result.run_directory(result.plan.runs[1].id) / "run.json"
    for path, act in (
        (run_json, result.records),
        (tmp_path / "r/plan.json", lambda: Result.open(tmp_path / "r")),
    ):
        document = json.loads(path.read_text())
        path.chmod(0o644)
        path.write_text(json.dumps({**document, "schema_version": newer, "novelty": 1}))
        with pytest.raises(
            UsageError, match=rf"{path.name}: written by a newer airtoll \(schema version {newer}"
        ):
            act()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schema_version": 1}', b"\xff\xfe", b"NaN"])
def test_a_damaged_plan_is_one_line_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    create(tmp_path / "r").close()
    plan = tmp_path / "r" / "plan.json"
    plan.chmod(0o644)
    plan.write_bytes(content)
    with pytest.raises(AirtollError, match=r"plan\.json: ") as caught:
        Result.open(tmp_path / "r")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("method", "retries"), 10**9),
        (("runs", 0, "attempt"), 10**9),
        (("runs", 0, "order"), 10**4000),
        (("runs", 0, "cell", "stations"), 10**9),
        (("runs", 0, "cell", "streams"), 10**9),
    ],
)
def test_a_plan_with_numbers_that_no_study_has_is_refused(
    tmp_path: Path, keys: tuple[str | int, ...], value: int
) -> None:
    """Readers list every attempt and every station, so that a small file of a stranger could take all memory."""
    create(tmp_path / "r").close()
    plan = tmp_path / "r" / "plan.json"
    document = json.loads(plan.read_text())
    table = document["plan"]
    for key in keys[:-1]:
        table = table[key]
    table[keys[-1]] = value
    plan.chmod(0o644)
    plan.write_text(json.dumps(document))
    with pytest.raises(AirtollError, match=rf"plan\.json: .*{keys[-1]}"):
        Result.open(tmp_path / "r")


def test_unreadable_sample_files_are_named(tmp_path: Path) -> None:
    result = create(tmp_path / "r")
    write_all(result)
    damaged = result.run_directory(result.plan.runs[1].id) / "samples.parquet"
    damaged.chmod(0o644)
    damaged.write_bytes(damaged.read_bytes()[:-8])
    with pytest.raises(AirtollError, match=re.escape(str(damaged))) as caught:
        result.samples()
    assert "\n" not in str(caught.value)


def test_resume_continues_after_the_last_run(tmp_path: Path) -> None:
    with create(tmp_path / "r") as first:
        first.write(make_record(first.plan.runs[1]), [sample()], {})
    kept = content_of(tmp_path / "r" / "runs")
    (tmp_path / "r" / ".tmp-head.01234567").mkdir()
    stale = tmp_path / "r" / "runs" / f".tmp-{first.plan.runs[0].id}.89abcdef"
    stale.mkdir()
    (stale / "run.json").write_text("{")
    assert Result.open(tmp_path / "r").finished() == {first.plan.runs[1].id}
    assert Result.open(tmp_path / "r").verify() == []
    with Result.resume(tmp_path / "r", STUDY, make_plan()) as second:
        assert not list((tmp_path / "r").rglob(".tmp-*"))
        assert [run.order for run in second.pending()] == [1, 3]
        write_all(second)
        assert second.pending() == ()
        assert second.verify() == []
    assert kept.items() <= content_of(tmp_path / "r" / "runs").items()


def test_resume_names_the_difference_of_the_plan(tmp_path: Path) -> None:
    create(tmp_path / "r").close()
    plan = make_plan()
    longer = plan.model_copy(update={"method": plan.method.model_copy(update={"duration": 9.0})})
    swapped = plan.model_copy(
        update={"runs": (plan.runs[0], plan.runs[1].model_copy(update={"seed": 5}), plan.runs[2])}
    )
    cases = [
        (STUDY.replace("fake", "other"), plan, r"line 2 is 'name = \"other\"', was 'name = \"fake\"'"),
        (STUDY + "more\n", plan, r"line 3 is 'more', was the end of the file"),
        (STUDY, longer, r"method\.duration is 9\.0, was 3\.0"),
        (STUDY, make_plan(2), "it has 2 runs, had 3"),
        (STUDY, swapped, r"runs\.2\.seed is 5, was 102"),
    ]
    for text, given_plan, message in cases:
        with pytest.raises(UsageError, match=message):
            Result.resume(tmp_path / "r", text, given_plan)
    Result.resume(tmp_path / "r", STUDY, plan).close()


@pytest.mark.parametrize("key", ["airtoll", "processor", "kernel"])
def test_a_result_of_another_origin_is_resumed_only_if_allowed(tmp_path: Path, key: str) -> None:
    create(tmp_path / "r").close()
    here = Origin.here()
    began = replace(here, **{key: "another"})
    path = tmp_path / "r" / "plan.json"
    document = json.loads(path.read_text())
    assert document["airtoll"] == here.airtoll
    (document if key == "airtoll" else document["machine"])[key] = "another"
    path.chmod(0o644)
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError) as refused:
        Result.resume(tmp_path / "r", STUDY, make_plan())
    assert f"{began} created it, {here} would continue it; --allow-mixed" in str(refused.value)
    assert "\n" not in str(refused.value)
    with Result.resume(tmp_path / "r", STUDY, make_plan(), allow_mixed=True) as result:
        write_all(result)
    assert {record.versions.airtoll for record in result.records()} == {here.airtoll}
    assert Result.open(tmp_path / "r").plan_record.airtoll == began.airtoll


def test_a_result_has_one_recorder_at_a_time(tmp_path: Path) -> None:
    result = create(tmp_path / "r")
    with pytest.raises(UsageError, match="another airtoll is recording into it"):
        Result.resume(tmp_path / "r", STUDY, make_plan())
    assert Result.open(tmp_path / "r").verify() == []
    result.write(make_record(result.plan.runs[0]), [], {})
    result.close()
    with Result.resume(tmp_path / "r", STUDY, make_plan()) as again:
        assert len(again.pending()) == 2
    with pytest.raises(RuntimeError, match="reading only"):
        result.write(make_record(result.plan.runs[1]), [], {})


def test_a_second_process_cannot_record_into_the_result(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from store_fakes import *\n"
        "from airtoll.errors import UsageError; from airtoll.store import Result\n"
        "try: Result.resume(Path(sys.argv[1]), STUDY, make_plan()).close()\n"
        "except UsageError as error: sys.exit(str(error))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def resume() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, str(tmp_path / "r")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    result = create(tmp_path / "r")
    refused = resume()
    assert refused.returncode == 1
    assert refused.stderr == f"{tmp_path / 'r'}: another airtoll is recording into it\n"
    result.close()
    assert resume().returncode == 0


def test_a_stale_lock_file_is_ignored(tmp_path: Path) -> None:
    create(tmp_path / "r").close()
    (tmp_path / "r" / ".lock").touch()
    assert Result.open(tmp_path / "r").verify() == []
    Result.resume(tmp_path / "r", STUDY, make_plan()).close()


def test_removing_a_lock_file_does_not_admit_a_second_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(tmp_path / "r").close()
    flock, calls = fcntl.flock, 0

    def late_flock(descriptor: int, operation: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:  # the last holder ends between opening and locking the file
            (tmp_path / "r" / ".lock").unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late_flock)
    with Result.resume(tmp_path / "r", STUDY, make_plan()):
        assert calls == 2
        with pytest.raises(UsageError, match="another airtoll"):
            Result.resume(tmp_path / "r", STUDY, make_plan())


def test_results_are_named_by_study_and_time() -> None:
    assert re.fullmatch(r"results/quickstart-\d{8}T\d{6}Z", str(default_directory("quickstart")))
    assert default_directory("../a b/ü").parent == Path("results")


def test_runs_that_are_written_together_are_each_stored_as_one_is(tmp_path: Path) -> None:
    plan = make_plan(4)
    alone, together = (
        Result.create(tmp_path / name, STUDY, plan, "fake", quick=False) for name in ("alone", "together")
    )
    runs = [FinishedRun(make_record(run), throughput_samples(), RAW) for run in plan.runs]
    for run in runs:
        alone.write(run.record, run.values, run.raw)
    together.write_all(runs)
    assert content_of(together.directory / "runs") == content_of(alone.directory / "runs")
    assert together.verify() == []
    together.write_all([])


def test_a_group_of_runs_is_stored_completely_or_not_at_all(tmp_path: Path) -> None:
    plan = make_plan(3)
    result = Result.create(tmp_path / "r", STUDY, plan, "fake", quick=False)
    good = FinishedRun(make_record(plan.runs[0]), throughput_samples(), RAW)
    bad = FinishedRun(make_record(plan.runs[1]), [sample(value=float("nan"))], RAW)
    with pytest.raises(AirtollError, match="returned nan"):
        result.write_all([good, bad])
    assert result.finished() == set()
    assert os.listdir(result.directory / "runs") == []


def test_a_result_of_version_0_2_0_is_read_and_not_written(tmp_path: Path) -> None:
    plan = make_plan(2)
    with Result.create(tmp_path / "r", STUDY, plan, "fake", quick=False) as result:
        result.write(make_record(plan.runs[0]), throughput_samples(), RAW)
    for path in [result.directory / "plan.json", *result.directory.glob("runs/*/run.json")]:
        old = json.loads(path.read_text())
        old["schema_version"] = 4
        made = old.get("plan", {})
        for run in made.get("runs") or [old["run"]]:
            del run["session"], run["attempt"]
        for name in made.keys() - {"study", "method", "link", "stacks", "runs"}:
            del made[name]
        for name in made.get("method", {}).keys() & {"switching", "sessions", "retries", "rtt_pause"}:
            del made["method"][name]
        old.get("verdict", {}).pop("spoiled", None)
        path.chmod(0o644)
        path.write_text(json.dumps(old))
    again = Result.open(result.directory)
    assert again.plan == plan
    assert [record.run for record in again.records()] == [plan.runs[0]]
    with pytest.raises(UsageError, match="it has schema version 4, this airtoll writes 9"):
        Result.resume(result.directory, STUDY, plan)
