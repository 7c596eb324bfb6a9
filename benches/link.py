"""Compare the data plane of a link with WireGuard tunnels on this machine; prints Markdown.

    make bench-link                                         prints to the terminal
    make bench-link WRITE=docs/measurements/link-speed.md   also updates the documentation

A veth pair joins two network namespaces, each with one end of the tunnel. Measured are TCP with iperf3, the highest
UDP rate without loss, the round trip on the idle tunnel, and the cost of a flood of garbage. The tunnels take turns,
so that noise affects all of them equally. The pipelines of the link are also measured from memory to memory, with one
and two workers.

The WireGuard tunnels require wg(8), which `make bench-link` installs. wireguard-go comes from PATH or is built with
`go`. boringtun-cli comes from PATH (`cargo install boringtun-cli`). The kernel's WireGuard is measured if the kernel
has it. For each tunnel that is left out, one line gives the reason.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from idle_link import ANSWER, ASK
from page import machine, publish

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LINK_BENCH = TARGET / "release/examples/link_bench"
TOOLS = TARGET / "tools"
WIREGUARD_GO = "golang.zx2c4.com/wireguard@v0.0.0-20260522210424-ecfc5a8d5446"
"""Built with `go`, because wireguard-go of Debian 12 (2022) does not use the kernel's UDP GSO and GRO."""
ROUNDS = 3
TCP_SECONDS = 4
UDP_SECONDS = 2
UDP_OCTETS = 1408
MEMORY_ROUNDS = 7
OUTER_MTU = 1560
"""Large enough for every tunnel to carry a datagram of 1408 octets unfragmented."""
INNER_MTU = 1440
"""The same for all tunnels, so that all carry TCP segments of the same length."""
RATE_STEP = 0.04
"""Relative precision of the search for the highest rate."""
SIDES = ("a", "b")
OUTER = {"a": "198.51.100.1", "b": "198.51.100.2"}
INNER = {"a": "192.0.2.1", "b": "192.0.2.2"}
MAC = {"a": "02:00:00:00:00:01", "b": "02:00:00:00:00:02"}
DEVICE = "link0"


class Side:
    """A network namespace in which commands run."""

    def __init__(self, stack: ExitStack, name: str) -> None:
        """Create the namespace, which exists until the stack is closed."""
        self.name = name
        keeper = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=-1)
        stack.callback(keeper.wait)
        stack.callback(keeper.kill)
        assert keeper.stdout is not None
        keeper.stdout.readline()
        self.pid = keeper.pid
        self.enter = ["nsenter", f"--target={self.pid}", "--net", "--"]

    @property
    def peer(self) -> str:
        """The name of the other side."""
        return SIDES[1 - SIDES.index(self.name)]

    def run(self, *command: str, stdin: str | None = None, timeout: float = 60) -> str:
        """Run a command to completion and return its output."""
        return subprocess.run(
            [*self.enter, *command], input=stdin, capture_output=True, text=True, check=True, timeout=timeout
        ).stdout

    def start(self, stack: ExitStack, *command: str) -> subprocess.Popen[str]:
        """Start a command that is killed when the stack is closed."""
        process = subprocess.Popen([*self.enter, *command], stdin=-1, stdout=-1, stderr=-2, text=True)

        def end() -> None:
            process.kill()
            process.communicate()

        stack.callback(end)
        return process

    def until(self, command: Sequence[str], what: str) -> None:
        """Wait until a command succeeds; SystemExit that names `what` after 10 s."""
        deadline = time.monotonic() + 10
        while subprocess.run([*self.enter, *command], capture_output=True, check=False).returncode:
            if time.monotonic() > deadline:
                raise SystemExit(f"bench-link: {what} did not come up")
            time.sleep(0.02)


@contextmanager
def wire() -> Iterator[dict[str, Side]]:
    """Two namespaces and the veth pair between them."""
    with ExitStack() as stack:
        sides = {name: Side(stack, name) for name in SIDES}
        a, b = sides.values()
        a.run(*f"ip link add eth0 type veth peer name eth0 netns {b.pid}".split())
        for side in sides.values():
            side.run(*f"ip link set eth0 address {MAC[side.name]} mtu {OUTER_MTU} up".split())
            side.run(*f"ip address add {OUTER[side.name]}/24 dev eth0".split())
            side.run("ip", "link", "set", "lo", "up")
        yield sides


def airtoll_link(transport: str, suite: str) -> Callable[[ExitStack, dict[str, Side]], None]:
    """A link of airtoll with a fixed key."""

    def up(stack: ExitStack, sides: dict[str, Side]) -> None:
        for side in sides.values():
            peer = side.peer
            asked: dict[str, object] = {
                "role": "ap" if side.name == "a" else "sta",
                "transport": transport,
                "suite": suite,
                "peer_address": MAC[peer],
                "networks": [f"{INNER[peer]}/32"] if side.name == "a" else [],
            }
            if transport == "udp":
                asked |= {"local": f"{OUTER[side.name]}:5678", "peer": f"{OUTER[peer]}:5678"}
                asked |= {"address": MAC[side.name], "outer_mtu": OUTER_MTU}
            else:
                asked["interface"] = "eth0"
            process = side.start(stack, str(LINK_BENCH), json.dumps(asked))
            assert process.stdout is not None
            said = process.stdout.readline()
            if not said.startswith('{"mtu"'):
                raise SystemExit(said)

    return up


def wireguard(*command: str) -> Callable[[ExitStack, dict[str, Side]], None]:
    """A WireGuard tunnel: by a program, which gets the device's name as argument, or by the kernel."""

    def up(stack: ExitStack, sides: dict[str, Side]) -> None:
        keys = {name: subprocess.check_output(["wg", "genkey"], text=True) for name in SIDES}
        public = {
            name: subprocess.check_output(["wg", "pubkey"], input=key, text=True).strip()
            for name, key in keys.items()
        }
        for side in sides.values():
            # All programs create their sockets in one directory, so the names must differ until wg has used them.
            name = f"wg-{side.name}"
            if command:
                side.start(stack, *command, name)
                socket = Path(f"/var/run/wireguard/{name}.sock")
                side.until(["test", "-S", str(socket)], command[0])
                stack.callback(socket.unlink, missing_ok=True)
            else:
                side.run(*f"ip link add {name} type wireguard".split())
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(keys[side.name])
                file.flush()
                peer = (
                    f"{public[side.peer]} endpoint {OUTER[side.peer]}:5678 allowed-ips {INNER[side.peer]}/32"
                )
                side.run(*f"wg set {name} listen-port 5678 private-key {file.name} peer {peer}".split())
            side.run(*f"ip link set {name} name {DEVICE}".split())

    return up


@dataclass(frozen=True)
class Rival:
    """A WireGuard tunnel, or the reason why it is left out."""

    name: str
    missing: str = ""
    version: str = ""
    command: tuple[str, ...] = ()
    """Empty for the kernel's WireGuard."""


@cache
def rivals() -> tuple[Rival, ...]:
    """All WireGuard tunnels, including the unavailable ones."""
    if shutil.which("wg") is None:
        missing = "wg is missing: apt-get install wireguard-tools"
        return tuple(
            Rival(name, missing) for name in ("wireguard-go", "boringtun", "WireGuard of the kernel")
        )
    return (_wireguard_go(), _boringtun(), _kernel())


def _wireguard_go() -> Rival:
    """wireguard-go from PATH, or built from the Go module proxy."""
    name = "wireguard-go"
    if path := shutil.which("wireguard-go") or shutil.which("wireguard"):
        # The first line of the output begins with the name.
        version = _first_line(path, "--version").removeprefix(name).strip()
        return Rival(name, version=version, command=(path, "--foreground"))
    if shutil.which("go") is None:
        return Rival(name, f"go is missing; it builds {WIREGUARD_GO}")
    done = subprocess.run(
        ["go", "install", WIREGUARD_GO],
        env={**os.environ, "GOBIN": str(TOOLS)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return Rival(name, f"go install {WIREGUARD_GO}: {done.stderr.strip().splitlines()[-1]}")
    return Rival(
        name, version=WIREGUARD_GO.partition("@")[2], command=(str(TOOLS / "wireguard"), "--foreground")
    )


def _boringtun() -> Rival:
    name = "boringtun"
    path = shutil.which("boringtun-cli")
    if path is None:
        return Rival(name, "boringtun-cli is missing: cargo install boringtun-cli")
    version = _first_line(path, "--version").rpartition(" ")[2]
    return Rival(name, version=version, command=(path, "--foreground", "--disable-drop-privileges"))


def _kernel() -> Rival:
    name = "WireGuard of the kernel"
    probe = ["unshare", "--net", "ip", "link", "add", "wg0", "type", "wireguard"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return Rival(name, f"not supported by this kernel ({done.stderr.strip()})" if done.returncode else "")


def _first_line(*command: str) -> str:
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return lines[0].strip() if lines else "unknown"


def contestants() -> dict[str, Callable[[ExitStack, dict[str, Side]], None] | None]:
    """All tunnels that can run on this machine, by name; None: no tunnel."""
    found: dict[str, Callable[[ExitStack, dict[str, Side]], None] | None] = {"no tunnel": None}
    for transport in ("udp", "ethernet"):
        for suite in ("ccmp", "enhanced4"):
            found[f"airtoll link, {transport}, {suite}"] = airtoll_link(transport, suite)
    for rival in rivals():
        if rival.missing:
            print(f"bench-link: skipping {rival.name}: {rival.missing}", file=sys.stderr)
        else:
            found[rival.name] = wireguard(*rival.command)
    return found


@dataclass(frozen=True)
class Figures:
    """The results of one turn of a tunnel."""

    tcp_mbps: float
    user_s_per_gbit: float
    kernel_s_per_gbit: float
    udp_mbps: float
    round_trip_us: float


@contextmanager
def iperf3_server(side: Side) -> Iterator[None]:
    """An iperf3 server for one measurement."""
    with ExitStack() as stack:
        server = side.start(stack, "iperf3", "-s", "-1", "--forceflush")
        assert server.stdout is not None
        next(line for line in server.stdout if "listening" in line)
        yield


def busy_s() -> tuple[float, float]:
    """CPU time of all cores of this machine since boot, in user space and in the kernel (proc_stat(5))."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq, *_ = map(int, file.readline().split()[1:])
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return (user + nice) / ticks_per_s, (system + irq + softirq) / ticks_per_s


def tcp(sides: dict[str, Side], address: str) -> tuple[float, float, float]:
    """One TCP stream from b to a: Mbit/s at the receiver, and CPU seconds of the whole machine per Gbit.

    The CPU seconds are those in user space and those in the kernel.
    """
    with iperf3_server(sides["a"]):
        command = f"iperf3 -c {address} -t {TCP_SECONDS} -O 1 -C cubic -J"
        before, start_s = busy_s(), time.monotonic()
        report = json.loads(sides["b"].run(*command.split()))
        after, took_s = busy_s(), time.monotonic() - start_s
    gbps = float(report["end"]["sum_received"]["bits_per_second"]) / 1e9
    user, kernel = ((late - early) / took_s / gbps for early, late in zip(before, after, strict=True))
    return 1000 * gbps, user, kernel


def udp_loses_nothing(sides: dict[str, Side], address: str, mbps: float) -> bool:
    """Whether iperf3 could send at this rate and all datagrams arrived."""
    with iperf3_server(sides["a"]):
        command = f"iperf3 -c {address} -u -b {mbps:.1f}M -l {UDP_OCTETS} -w 4M -t {UDP_SECONDS} -J"
        report = json.loads(sides["b"].run(*command.split()))
    end = report["end"]["sum"]
    return bool(end["lost_packets"] == 0 and end["bits_per_second"] > (1 - RATE_STEP) * mbps * 1e6)


def udp_mbps(sides: dict[str, Side], address: str) -> float:
    """The highest rate without loss. Each rate has two tries, because other load of the machine also causes loss."""
    low, high = 50.0, 6400.0
    while high / low > 1 + RATE_STEP:
        middle = (low * high) ** 0.5
        if any(udp_loses_nothing(sides, address, middle) for _ in range(2)):
            low = middle
        else:
            high = middle
    return low


def round_trip_us(sides: dict[str, Side], address: str) -> float:
    """Median round trip of datagrams of 128 octets, one every 2 ms, each answered at once."""
    with ExitStack() as stack:
        answering = sides["a"].start(stack, sys.executable, "-uc", ANSWER, address)
        assert answering.stdout is not None
        answering.stdout.readline()
        asked = sides["b"].run(sys.executable, "-c", ASK, address, "128")
    return statistics.median(map(int, asked.split())) / 1000


def open_tunnel(
    stack: ExitStack, sides: dict[str, Side], up: Callable[[ExitStack, dict[str, Side]], None]
) -> None:
    """Bring a tunnel up and wait until it carries packets."""
    up(stack, sides)
    for side in sides.values():
        side.run(*f"ip address add {INNER[side.name]}/24 dev {DEVICE}".split())
        side.run(*f"ip link set {DEVICE} mtu {INNER_MTU} up".split())
    sides["b"].until(["ping", "-c", "1", "-W", "1", INNER["a"]], "the tunnel")


def turn(up: Callable[[ExitStack, dict[str, Side]], None] | None) -> Figures:
    """One turn of a tunnel, on its own pair of namespaces."""
    with wire() as sides, ExitStack() as stack:
        address = OUTER["a"] if up is None else INNER["a"]
        if up is not None:
            open_tunnel(stack, sides, up)
        return Figures(
            *tcp(sides, address),
            udp_mbps=udp_mbps(sides, address),
            round_trip_us=round_trip_us(sides, address),
        )


def introduction() -> str:
    """The title, the machine and the versions."""
    versions = [f"{rival.name} {rival.version}".strip() for rival in rivals() if not rival.missing]
    absent = [rival.name for rival in rivals() if rival.missing]
    return (
        "# Speed of the link beside WireGuard\n\n"
        "A link is faster than wireguard-go with TCP and with UDP, and adds less to a round trip. Two workers on\n"
        "two cores carry almost twice as much as one.\n\n"
        f"Made by `make bench-link WRITE=docs/measurements/link-speed.md` on {machine()},\n"
        f"load over five minutes {os.getloadavg()[1]:.1f}. Measurements are noisy: ratios "
        "apply to other machines too, absolute figures do not.\n"
        + (f"Compared with: {', '.join(versions)}.\n" if versions else "")
        + (f"Not available on this machine: {', '.join(absent)}.\n" if absent else "")
    ).rstrip()


def side_by_side() -> str:
    """Measure all tunnels in turns."""
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "wlan-link", "--example", "link_bench"],
        cwd=ROOT,
        check=True,
    )
    turns: dict[str, list[Figures]] = {}
    field = contestants()
    for _ in range(ROUNDS):
        for name, up in field.items():
            turns.setdefault(name, []).append(turn(up))
            print(name, turns[name][-1], file=sys.stderr)
    return comparison(turns)


def comparison(turns: dict[str, list[Figures]]) -> str:
    """The table of medians and ratios."""
    medians = {
        name: {
            field.name: statistics.median(getattr(figures, field.name) for figures in own)
            for field in fields(Figures)
        }
        for name, own in turns.items()
    }
    bare_us = medians["no tunnel"]["round_trip_us"]
    rows = []
    for name, own in medians.items():
        ratios = [
            f"{own['tcp_mbps'] / rival['tcp_mbps']:.2f} / {own['udp_mbps'] / rival['udp_mbps']:.2f}"
            if (rival := medians.get(rival_name))
            else "not here"
            for rival_name in ("wireguard-go", "boringtun")
        ]
        added = "" if name == "no tunnel" else f"{own['round_trip_us'] - bare_us:.0f}"
        rows.append(
            (
                *(name, f"{own['tcp_mbps']:.0f}"),
                f"{own['user_s_per_gbit']:.3f} + {own['kernel_s_per_gbit']:.3f}",
                *(f"{own['udp_mbps']:.0f}", f"{own['round_trip_us']:.0f}", added, *ratios),
            )
        )
    heads = (
        *("", "TCP, Mbit/s", "CPU time, s/Gbit: user + kernel", "UDP, Mbit/s", "round trip, us", "added, us"),
        *("TCP / UDP relative to wireguard-go", "relative to boringtun"),
    )
    return (
        "## TCP, UDP, round trip\n\n"
        f"Two network namespaces are joined by veth (MTU {OUTER_MTU}); the tunnel's device has MTU {INNER_MTU}. "
        f"Figures are medians of {ROUNDS} turns.\nAll programs, both IP stacks and both ends share the cores.\n\n"
        f"- **TCP**: iperf3, one stream, CUBIC, {TCP_SECONDS} s. CPU time is the time of the whole machine during the "
        "measurement. The\n  kernel carries super-packets without a tunnel, messages of up to 64 frames over UDP, and "
        f"single frames over Ethernet.\n- **UDP**: the highest rate without a lost datagram of {UDP_OCTETS} octets in "
        f"{UDP_SECONDS} s, searched to {100 * RATE_STEP:.0f} %.\n"
        "- **Round trip**: datagrams of 128 octets on the idle link, one every 2 ms, median of 1000.\n\n"
        + table(heads, rows)
    )


def from_memory_to_memory() -> str:
    """The pipelines of both ends without the kernel, with one worker and with two in turns."""
    rates: dict[str, dict[int, list[float]]] = {suite: {1: [], 2: []} for suite in ("ccmp", "gcmp")}
    for _ in range(MEMORY_ROUNDS):
        for suite, by_workers in rates.items():
            for workers, own in by_workers.items():
                asked = json.dumps({"role": "memory", "suite": suite, "workers": workers})
                said = subprocess.check_output([str(LINK_BENCH), asked], text=True)
                own.append(json.loads(said)["mbps"])
    rows = []
    for suite, by_workers in rates.items():
        one, two = (statistics.median(own) for own in by_workers.values())
        ratio = statistics.median(b / a for a, b in zip(*by_workers.values(), strict=True))
        rows.append((suite, f"{one:.0f}", f"{two:.0f}", f"{ratio:.2f}"))
    return (
        "## From memory to memory\n\n"
        "Each worker reads super-packets of TCP from memory, seals their frames, copies the frames to the other end's\n"
        "worker, opens them and writes the packets to memory, without the kernel. Figures are Mbit/s of payload,\n"
        f"medians of {MEMORY_ROUNDS} turns of 1 s.\n\n"
        + table(("suite", "one worker", "two workers on two cores", "ratio, median of turns"), rows)
    )


def under_a_flood() -> str:
    """TCP throughput with and without a flood of garbage."""
    rows = []
    clean: list[float] = []
    flooded: list[float] = []
    for _ in range(ROUNDS):
        for results, is_flooded in ((clean, False), (flooded, True)):
            with wire() as sides, ExitStack() as stack:
                open_tunnel(stack, sides, airtoll_link("udp", "ccmp"))
                if is_flooded:
                    asked = {"role": "flood", "transport": "udp", "suite": "ccmp", "peer_address": MAC["a"]}
                    asked |= {"address": MAC["b"], "local": f"{OUTER['b']}:0", "peer": f"{OUTER['a']}:5678"}
                    sides["b"].start(stack, str(LINK_BENCH), json.dumps(asked))
                results.append(tcp(sides, INNER["a"])[0])
    before, after = statistics.median(clean), statistics.median(flooded)
    rows.append((f"{before:.0f}", f"{after:.0f}", f"{100 * (1 - after / before):.0f} %"))
    return (
        "## Under a flood\n\n"
        "UDP transport, ccmp, while another host sends 50 000 datagrams of 1400 octets per second. Half of them are\n"
        "noise, half have the right addresses and a wrong MIC. The sender shares the same cores. The limit is a cost\n"
        "of 20 %.\n\n" + table(("TCP, Mbit/s", "in the flood", "cost"), rows)
    )


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    if absent := [
        tool for tool in ("ip", "iperf3", "nsenter", "ping", "unshare") if shutil.which(tool) is None
    ]:
        raise SystemExit(
            f"bench-link: {', '.join(absent)} missing: apt-get install iproute2 iperf3 util-linux iputils-ping"
        )
    publish(__doc__.splitlines()[0], introduction(), (side_by_side, from_memory_to_memory, under_a_flood))
