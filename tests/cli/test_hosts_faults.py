"""Studies of lab hosts in which machines, links, tools, the access point and airtoll itself fail.

One study has a fault in each of its runs, and another one is killed again and again. In a guest, ssh is the stand-in of
`machines_on_air`, and the clock can be set. `make bench-faults` prints the outcome of each fault.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import virtual_time
from agent_processes import wait_until
from cli_command import AIRTOLL, SMALL_STUDY
from machines_on_air import machines
from made_cell import make_cell
from ssh_server import SSHD

from airtoll import _rust
from airtoll.agent.host import AgentHost
from airtoll.course import Course
from airtoll.errors import AirtollError
from airtoll.labs import air, journal
from airtoll.labs.hosts import Hosts
from airtoll.probes import probes_of
from airtoll.store import Event, ProbeStarted, Result, RunFinished, RunStarted, check_ready, record
from airtoll.study import expand, load_study

pytestmark = [
    pytest.mark.virtual_time,
    pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot enter the namespaces of other processes"),
    pytest.mark.skipif(not Path(SSHD).exists(), reason="sshd (openssh-server) is missing"),
]

IN_GUEST = virtual_time.clock() == "virtual"
STEP_S = 3600


@dataclass
class Scene:
    """The machines while a study runs."""

    folder: Path
    lab: Hosts | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        self.runs_before = len(self.runs())

    def runs(self) -> list[Path]:
        """The stored runs."""
        return [] if self.out is None else list(self.out.glob("runs/[0-9]*/run.json"))

    def actions(self) -> list[str]:
        """The actions of the hook, with the level."""
        file = self.folder / "actions"
        return file.read_text().splitlines() if file.exists() else []

    def host(self, role: str) -> AgentHost:
        """A machine, as the study reaches it."""
        assert self.lab is not None
        return self.lab.machines.host(role)

    def namespace(self, role: str) -> Path:
        """The network namespace of a machine."""
        words = dict(line.split("=") for line in (self.folder / "state").read_text().split())
        return Path(f"/proc/{words['emulator']}/fd/{words[role]}")

    def processes(self, role: str, *words: str) -> list[int]:
        """The processes of a machine whose command has these words."""
        return [pid for pid, argv in processes() if set(words) <= set(argv) and self.has(role, pid)]

    def agents(self, role: str, part: str) -> list[int]:
        """The supervisor (`serve`) or the worker (`work`) of the agent of a machine."""
        return [pid for pid, argv in processes() if argv[1:2] == [part] and self.has(role, pid)]

    def has(self, role: str, pid: int) -> bool:
        with suppress(OSError):
            return Path(f"/proc/{pid}/ns/net").stat().st_ino == self.namespace(role).stat().st_ino
        return False

    def ip(self, role: str, *words: str) -> None:
        subprocess.run(["nsenter", f"--net={self.namespace(role)}", "ip", *words], check=True)


def processes() -> Iterator[tuple[int, list[str]]]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(entry.name), (entry / "cmdline").read_text(errors="replace").split("\0")[:-1]


def exe(pid: int) -> str | None:
    with suppress(OSError):
        return str(Path(f"/proc/{pid}/exe").readlink())
    return None


Act = Callable[[Scene], Callable[[], None] | None]
"""A fault. It may return a function that undoes the fault at the end of the run."""


@dataclass(frozen=True)
class Fault:
    """A fault in a run."""

    name: str
    during: str  # "start", before the link is opened; or the client that runs on the station: iperf3, ping
    act: Act
    reason: str | None  # of the run's first attempt; None if the run may be valid
    stops: bool = False  # whether airtoll stops, and is started again
    in_first: bool = (
        False  # in the first run of a session, which switches the access point; otherwise in another one
    )


def killed(*roles: str, what: str) -> Act:
    """Kill the transport, the worker or the supervisor of the agents of machines."""

    def act(scene: Scene) -> None:
        for role in roles:
            if what == "transport":
                pids = [scene.host(role).connection._transport.pid]
            else:
                pids = scene.agents(role, {"worker": "work", "supervisor": "serve"}[what])
            assert pids, (role, what)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    return act


def restores(role: str, act: Act) -> Act:
    """Do the same after a change of the machine, which its agent must revert."""

    def with_change(scene: Scene) -> Callable[[], None]:
        file = scene.folder / f"reverted-{time.monotonic_ns()}"
        scene.host(role).at_end(["touch", str(file)])
        act(scene)

        def check() -> None:
            assert wait_until(file.exists)

        return check

    return with_change


def stopped(role: str) -> Act:
    """Stop the worker of a machine, which then does not answer."""

    def act(scene: Scene) -> Callable[[], None]:
        pids = scene.agents(role, "work")
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

        def resume() -> None:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

        return resume

    return act


def down(role: str) -> Act:
    """Take the interface of a machine down until the end of the run."""

    def act(scene: Scene) -> Callable[[], None]:
        scene.ip(role, "link", "set", _rust.DEVICE_NAME, "down")
        return lambda: scene.ip(role, "link", "set", _rust.DEVICE_NAME, "up")

    return act


def both(*acts: Act) -> Act:
    """Do all of these, and undo them in reverse order."""

    def act(scene: Scene) -> Callable[[], None]:
        undo = [undone for act in acts if (undone := act(scene)) is not None]

        def back() -> None:
            while undo:
                undo.pop()()

        return back

    return act


def stepped(by_s: float) -> Act:
    """Set the clock of the machine. Outside of a guest, it would be the clock of this machine."""

    def act(_: Scene) -> None:
        if IN_GUEST:
            time.clock_settime(time.CLOCK_REALTIME, time.time() + by_s)

    return act


def tool_killed(role: str, *words: str) -> Act:
    def act(scene: Scene) -> None:
        pids = scene.processes(role, *words)
        assert pids, words
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    return act


def replaced(name: str, text: str) -> Act:
    """Replace a program of the lab until the end of the run."""

    def act(scene: Scene) -> Callable[[], None]:
        file = scene.folder / name
        kept = file.with_suffix(".kept")
        file.rename(kept)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return lambda: shutil.move(kept, file) and None

    return act


def full(name: str) -> Act:
    """Fill the file system of a folder until the end of the run, after the agents have gone."""

    def act(scene: Scene) -> Callable[[], None]:
        folder = scene.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)], check=True)
        (folder / "filler").write_bytes(bytes(60 * 1024))
        killed("sta", "ap", what="transport")(scene)
        return lambda: subprocess.run(["umount", "--lazy", str(folder)], check=True) and None

    return act


def damaged(scene: Scene) -> None:
    """Damage the agent's program on the machines, and end the agents."""
    for file in (scene.folder / "cache" / "airtoll").iterdir():
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(content[:1000])
    killed("sta", "ap", what="transport")(scene)


def cut_off(*roles: str) -> Act:
    """End the agents of machines, and let no connection reach them until the end of the run: they have no power."""

    def act(scene: Scene) -> Callable[[], None]:
        way = "bin/ssh" if IN_GUEST else "enter"
        kept = (scene.folder / way).with_suffix(".kept")
        refused = "".join(f'case " $* " in *" {role} "*) exit 1 ;; esac\n' for role in roles)
        transports = [scene.host(role).connection._transport for role in roles]
        undo = replaced(way, f'{refused}exec {kept} "$@"')(scene)
        for transport in transports:
            transport.kill()
        assert undo is not None
        return undo

    return act


def rebooted(scene: Scene) -> None:
    """End all machines and the air between them, and start new ones."""
    with socket.socket(socket.AF_UNIX) as air:
        air.connect(str(scene.folder / "air.sock"))
        air.sendall(b'{"action": "reboot"}\n')
        assert air.makefile().readline() == "ok\n"


LOST, CHANGED = "host lost: ", "link changed: "
FAULTS: Sequence[Fault] = [
    # The first run of a session switches the access point, which makes new machines.
    Fault("worker of sta killed before", "start", killed("sta", what="worker"), None, in_first=True),
    Fault("hook fails", "start", replaced("hook", "echo no; exit 7"), None, stops=True, in_first=True),
    Fault("transport of sta killed before", "start", killed("sta", what="transport"), None, in_first=True),
    Fault("agent's program damaged", "start", damaged, None, in_first=True),
    Fault("transport of sta killed", "iperf3", restores("sta", killed("sta", what="transport")), LOST),
    Fault("worker of ap killed", "ping", restores("ap", killed("ap", what="worker")), LOST),
    Fault("interface of sta down before", "start", down("sta"), LOST),
    Fault("supervisor of sta killed", "ping", restores("sta", killed("sta", what="supervisor")), LOST),
    Fault("supervisors killed", "iperf3", killed("sta", "ap", what="supervisor"), LOST),
    Fault("agent of ap hangs", "iperf3", stopped("ap"), LOST),
    Fault("interface of sta down", "iperf3", down("sta"), CHANGED),
    Fault("interface of ap down", "ping", down("ap"), CHANGED),
    Fault("interfaces down", "ping", both(down("sta"), down("ap")), CHANGED),
    Fault("transport of ap killed", "ping", restores("ap", killed("ap", what="transport")), LOST),
    Fault("workers killed", "iperf3", restores("sta", killed("sta", "ap", what="worker")), LOST),
    Fault("agent of sta hangs", "ping", stopped("sta"), LOST),
    Fault("clock stepped forward", "iperf3", stepped(STEP_S), None),
    Fault("clock stepped back", "ping", stepped(-STEP_S), None),
    Fault("client of iperf3 killed", "iperf3", tool_killed("sta", "iperf3", "-c"), None, stops=True),
    Fault("server of iperf3 killed", "iperf3", tool_killed("ap", "iperf3", "-s"), None, stops=True),
    Fault("client of ping-pong killed", "ping", tool_killed("sta", "pingpong", "ping"), None, stops=True),
    Fault("server of ping-pong killed", "ping", tool_killed("ap", "pingpong", "serve"), None, stops=True),
    Fault("disk of the machines full", "start", full("cache"), LOST),
    Fault("sta without power", "iperf3", cut_off("sta"), LOST),
    Fault("ap without power", "ping", cut_off("ap"), LOST),
    Fault("machines without power before", "start", cut_off("sta", "ap"), LOST),
    Fault("machines reboot", "iperf3", rebooted, LOST),
]


@dataclass
class Story:
    """The outcome of every run."""

    order: list[int]
    reasons: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)  # by fault and attempt
    stops: dict[str, str] = field(default_factory=dict)  # by fault: the error
    left: list[str] = field(default_factory=list)  # what airtoll left on a machine after it had ended
    damage: list[str] = field(default_factory=list)  # of the result
    actions: list[str] = field(default_factory=list)  # of the hook


def study(folder: Path, repeats: int) -> Path:
    text = SMALL_STUDY.replace('ip = ["ipv6"]', 'ip = ["ipv4"]').replace(
        "repeats = 2\nretries = 0",
        f'repeats = {repeats}\nretries = 2\nswitching = "session"\nsessions = 2',
    )
    path = folder / "small.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A station and the access point's host."""
    if reason := air.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("lab")
    with (
        pytest.MonkeyPatch.context() as patch,
        machines(
            folder,
            make_cell(phy="ofdm", rate="54 Mbit/s"),
            clock=virtual_time.clock(),
            patience_s=3 if IN_GUEST else 30,
        ) as file,
    ):
        patch.setenv("XDG_STATE_HOME", str(folder / "journal"))
        if IN_GUEST:
            patch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
        yield file


def left_behind(inventory: Path, *, with_journal: bool = True) -> list[str]:
    """Agents, folders of agents, and changes in the journal, after airtoll has ended."""
    cache = str(inventory.parent / "cache")

    def found() -> list[str]:
        agents = [
            " ".join(argv) for pid, argv in processes() if (program := exe(pid)) and program.startswith(cache)
        ]
        # On a shared machine, folders may belong to the agents of others.
        folders = Path(os.environ["TMPDIR"]).glob("airtoll-agent-*") if IN_GUEST else ()
        return [*agents, *map(str, folders)]

    wait_until(lambda: not found())
    changes = [each.what for each in journal.pending(inventory)] if with_journal else []
    return [*found(), *changes]


class Injected:
    """The faults of a recording, each in the first attempt of its run."""

    def __init__(self, scene: Scene, faults: dict[str, Fault]) -> None:
        self._scene = scene
        self._faults = faults
        self._undo: list[Callable[[], None]] = []
        self._threads: list[threading.Thread] = []
        self.current: Fault | None = None
        self.errors: list[BaseException] = []

    def on_event(self, event: Event) -> None:
        match event:
            case RunStarted(run=run):
                self.current = self._faults.pop(run.id, None)
                self._act("start")
            case ProbeStarted(probe=probe):
                client = {"throughput": ["iperf3", "-c"], "rtt": ["pingpong", "ping"]}[probe]
                thread = threading.Thread(target=self._act_beside, args=(client,))
                thread.start()
                self._threads.append(thread)
            case RunFinished():
                self.end()

    def _act_beside(self, client: Sequence[str]) -> None:
        """Act when the client runs on the station."""
        if self.current is None or self.current.during not in client:
            return
        try:
            assert wait_until(lambda: bool(self._scene.processes("sta", *client)))
            self._act(self.current.during)
        except BaseException as error:
            self.errors.append(error)

    def _act(self, now: str) -> None:
        if self.current is not None and self.current.during == now:
            undo = self.current.act(self._scene)
            if undo is not None:
                self._undo.append(undo)

    def end(self) -> None:
        """Undo the fault."""
        while self._threads:
            self._threads.pop().join()
        while self._undo:
            self._undo.pop()()
        if self.errors:
            raise self.errors[0]


@pytest.fixture(scope="module")
def story(inventory: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """A study with one fault per run."""
    folder = tmp_path_factory.mktemp("story")
    text = study(folder, len(FAULTS) // 2 + 1)
    plan = expand(load_study(text), lab="hosts")
    first = {run.session: run for run in reversed(plan.runs)}
    others = [run for run in plan.runs if run.id != first[run.session].id]
    of_run = {
        run.id: fault
        for in_first, runs in ((True, sorted(first.values(), key=lambda run: run.order)), (False, others))
        for run, fault in zip(runs, (fault for fault in FAULTS if fault.in_first is in_first), strict=False)
    }
    assert len(of_run) == len(FAULTS)
    told = Story(order=[run.order for run in plan.runs])
    left = dict(of_run)
    with Result.create(folder / "result", text.read_text(), plan, "hosts", quick=False) as result:
        while next(Course.of(result).left(), None) is not None:
            with closing(Hosts(inventory, plan.link, plan.stacks, plan.profiles)) as lab:
                injected = Injected(Scene(inventory.parent, lab), left)
                probes = probes_of(plan.method.probes, lab.name)
                try:
                    check_ready(plan.runs, lab, probes)
                    record(result, lab, probes, injected.on_event, course=Course.of(result))
                except AirtollError as error:
                    told.stops["" if injected.current is None else injected.current.name] = str(error)
                finally:
                    injected.end()
            told.left += left_behind(inventory)
        for one in sorted(result.records(), key=lambda one: one.run.attempt):
            attempted = one.run.model_copy(update={"attempt": 1}).id
            name = of_run[attempted].name if attempted in of_run else f"none in {attempted}"
            told.reasons.setdefault(name, []).append(one.verdict.reasons)
        told.damage = result.verify()
    told.actions = (inventory.parent / "actions").read_text().splitlines()
    assert not left
    return told


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_costs_its_run_and_no_other(
    story: Story, fault: Fault, record_property: Callable[[str, object], None]
) -> None:
    reasons = story.reasons[fault.name]
    record_property("fault", fault.name)
    record_property(
        "when", {"start": "before the run", "iperf3": "throughput", "ping": "round trips"}[fault.during]
    )
    record_property("stop", story.stops.get(fault.name, ""))
    record_property("attempts", json.dumps(reasons))
    if fault.reason is not None:
        assert any(reason.startswith(fault.reason) for reason in reasons[0]), reasons
    assert reasons[-1] == (), reasons
    assert (fault.name in story.stops) == fault.stops, story.stops


def test_runs_without_a_fault_are_valid(story: Story) -> None:
    assert {
        name: reasons for name, reasons in story.reasons.items() if "none in" in name and reasons != [()]
    } == {}


def test_nothing_recorded_is_lost(story: Story) -> None:
    assert len(story.reasons) == len(story.order)
    assert story.damage == []


def test_the_machines_and_the_access_point_are_as_before(story: Story) -> None:
    assert story.left == []
    assert story.actions[-1] == "restore"
    assert story.actions.count("restore") >= len(story.stops) + 1


PHASES: dict[str, Callable[[Scene], bool]] = {
    "switching": lambda scene: scene.actions()[-1:] not in ([], ["restore"]),
    "throughput": lambda scene: bool(scene.processes("sta", "iperf3", "-c")),
    "round trips": lambda scene: bool(scene.processes("sta", "pingpong", "ping")),
    "storing": lambda scene: len(scene.runs()) > scene.runs_before,
}
"""When airtoll is killed: as soon as the condition is true."""

KILLS = [
    *((phase, signal.SIGKILL) for phase in PHASES),
    *(("switching", sig) for sig in (signal.SIGINT, signal.SIGTERM)),
    *(("throughput", sig) for sig in (signal.SIGINT, signal.SIGHUP)),
]
"""The kills in order."""


def test_a_killed_airtoll_leaves_nothing_and_resumes(
    inventory: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("kills", json.dumps([(f"airtoll gets {sig.name}", phase) for phase, sig in KILLS]))
    out = tmp_path / "result"
    argv = [AIRTOLL, "run", str(study(tmp_path, 2)), "--lab", "hosts", "--inventory", str(inventory)]
    argv += ["--out", str(out)]
    kept: dict[Path, int] = {}
    for phase, sig in KILLS:
        condition = PHASES[phase]
        scene = Scene(inventory.parent, out=out)
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
            until_s = time.monotonic() + 60
            while not condition(scene):
                assert running.poll() is None, (phase, running.communicate())
                assert time.monotonic() < until_s, phase
                time.sleep(0.005)
            running.send_signal(sig)
        assert wait_until(lambda: Scene(inventory.parent).actions()[-1:] in ([], ["restore"])), phase
        assert left_behind(inventory, with_journal=False) == [], phase
        now = {file: file.stat().st_mtime_ns for file in out.glob("runs/[0-9]*/run.json")}
        assert kept.items() <= now.items(), phase
        kept = now
        if out.exists():
            argv = [AIRTOLL, "run", "--resume", str(out), "--inventory", str(inventory)]
    (inventory.parent / "hook").rename(inventory.parent / "hook.kept")
    restore = [AIRTOLL, "hosts", "restore", str(inventory)]
    done = subprocess.run(restore, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("remains: host controller: restoring the access point")
    (inventory.parent / "hook.kept").rename(inventory.parent / "hook")
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Course.of(Result.open(out)).unneeded() == frozenset()
    assert next(Course.of(Result.open(out)).left(), None) is None
    assert left_behind(inventory) == []
