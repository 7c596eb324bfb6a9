"""The interface of every lab: hosts to run commands on, their addresses, and facts about the link between them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from airtoll.clock import Clock
from airtoll.host import Host, RadioRate, machine_lacks, missing_commands, named_commands, packages_of
from airtoll.study.cell import Cell, Plan, resolved
from airtoll.study.factors import Ip, StackName
from airtoll.study.labs import lab_entry
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.security import SecurityProfile, with_ready_made


@dataclass(frozen=True, kw_only=True)
class Known:
    """The properties of a link that probes may read, in every lab. None means that the lab does not know it."""

    capacity_open_bit_per_s: float | None = None  # UDP payload that the link carries without security
    rate_kbit_per_s: float | None = None  # PHY rate of data frames
    seed: int | None = None  # seed of the run
    cipher: str | None = None  # the level of the cipher that protects data frames: open, ccmp
    congestion_control: str | None = None  # of TCP; this and the next two are None unless the study sets them
    tcp_window_bytes: int | None = None
    udp_buffer_bytes: int | None = None
    pacing_timer_us: float | None = None  # of iperf3; None unless the study sets it
    blocks_senders: bool = False  # whether a full queue of the link blocks programs that send datagrams
    virtual_time: bool = False  # whether programs take no time: then CPU load and CPU time mean nothing


@dataclass(frozen=True)
class Link:
    """The hosts and the link between them, which is measured."""

    hosts: Mapping[str, Host]  # by role: "ap"; "sta", or "sta1", "sta2"...; "server"; empty in virtual time
    addresses: Mapping[tuple[str, Ip], str]  # (role, IP version) -> address
    facts: Mapping[str, Any]  # only for the record and the verdict: PHY, rate, cipher, queue, scheduling
    counters: "Counters" = field(repr=False)
    pairs: tuple[tuple[str, str], ...] = (("sta", "ap"),)
    """The pairs of roles that exchange traffic: a station and its server. All pairs are active at the same time."""

    known: Known = Known()
    """The properties that probes rely on. A probe reads nothing from `facts`."""

    expected: Mapping[str, Any] = field(default_factory=dict)
    """The values that the cell asks for, of facts that the lab reads back from the link. A run with other values is
    invalid. The cipher is in `known`."""

    interfaces: Mapping[str, str] = field(default_factory=dict)
    """The measured interface of each host, by role; none if only the emulator can change it."""

    macs: Mapping[str, str] = field(default_factory=dict)
    """The roles of the hosts by the MAC addresses of their radios."""

    attempts: "Attempts" = field(default=dict, repr=False)


class Counters(Protocol):
    """Counters of the link itself."""

    def __call__(self) -> dict[str, Any]:
        """Totals since the link was opened; docs/reference/data-format.md lists the keys."""
        ...


class Attempts(Protocol):
    """The transmissions of the hosts' radios."""

    def __call__(self) -> Mapping[tuple[str, str], Mapping[RadioRate, int]]:
        """Total transmissions by rate, by roles of host and peer; none if the radios do not count them."""
        ...


class Lab:
    """An environment in which cells are measured. The defaults are those of a lab on this machine alone."""

    name: ClassVar[str]
    """The key of its entry in `airtoll.study.labs`."""

    agentless: Sequence[str] = ()
    """The roles of the hosts that run no agent (macOS, Windows)."""

    def __init__(
        self,
        link: LinkSettings | None = None,
        stacks: Mapping[StackName, Stack] | None = None,
        profiles: Mapping[str, SecurityProfile] | None = None,
        clock: Clock = "real",
    ) -> None:
        """`link`: the study's settings of the link; `stacks`: its TCP/IP stacks; `profiles`: its security profiles;
        `clock`: that of the hosts, if the lab has hosts.
        """
        self._link = link or LinkSettings()
        self._stacks = stacks or {}
        self._profiles = with_ready_made(profiles)
        self._clock = clock

    @classmethod
    def of(cls, plan: Plan, inventory: Path | None) -> Self:  # noqa: ARG003  (only lab hosts has an inventory)
        """The lab with the settings of the plan. Raises UsageError if the lab requires something else."""
        return cls(plan.link, plan.stacks, plan.profiles, plan.clock)

    @property
    def virtual(self) -> bool:
        """Whether time is virtual: runs take no real time and repeat exactly."""
        return not lab_entry(self.name).has_hosts

    @property
    def survives_loss(self) -> bool:
        """Whether a host that vanishes may come back: then the run is invalid, and the study continues."""
        return lab_entry(self.name).has_machines

    def _of_cipher(self, cell: Cell) -> tuple[Cell, LinkSettings]:
        """The cell with its cipher as its security level, and its settings of the link."""
        return resolved(cell, self._link, self._stacks, self._profiles)

    def check(self, cell: Cell) -> str | None:
        """Return why this lab cannot measure the cell on any machine, or None if it can."""
        raise NotImplementedError

    def missing(self) -> str | None:
        """Return what prevents the lab from running on this machine, with the remedy, or None."""
        return None

    def lacks(self, packages: Mapping[str, str]) -> str | None:
        """Return the commands that the lab's hosts lack (command -> Debian package), with the remedy, or None."""
        return machine_lacks(packages) if lab_entry(self.name).has_hosts else None

    def capture_obstacle(self) -> str | None:
        """Return why this lab cannot capture the air, or None if it can."""
        return None

    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> AbstractContextManager[Link]:
        """Bring the link up, and capture the air in `pcap` if it is given. Leaving the context takes it down."""
        raise NotImplementedError

    def begin(self, session: int | None) -> None:
        """Announce the session of the next link: a new session sets up the access point and its stations anew.

        The default is that every link does.
        """

    def close(self) -> None:
        """Restore all hosts and access points that runs changed, and end connections: all that a link left."""


def obstacles_of_radios(cell: Cell) -> Iterator[str]:
    """Reasons why radios of real machines cannot have the cell, which emulated air can have."""
    if cell.snr != "none":
        yield f"snr '{cell.snr:g} dB': the places of the radios determine their SNR; use snr = 'none'"


def lab_lacks(lab: str, packages: Mapping[str, str], path: str | None = None) -> str | None:
    """Return the commands that a lab lacks, with the remedy, or None. The arguments are as in `missing_commands`."""
    if not (missing := missing_commands(packages, path)):
        return None
    return f"lab {lab} requires {named_commands(missing)}: apt-get install {packages_of(missing)}"
