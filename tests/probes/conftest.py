"""Hosts for tests of probes: two network namespaces joined by a veth pair, without root if allowed."""

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from probe_hosts import ADDRESSES, CONNECTIONS, PlainHost, make_link

from airtoll.labs.base import Link
from airtoll.study.cell import Method

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture(autouse=True)
def _agents_end() -> Iterator[None]:
    """End the agents of the test's hosts."""
    before = len(CONNECTIONS)
    yield
    while len(CONNECTIONS) > before:
        CONNECTIONS.pop().close()


@pytest.fixture
def here() -> PlainHost:
    """The machine of the tests."""
    return PlainHost("machine")


@contextmanager
def _namespace(command: Sequence[str]) -> Iterator[int]:
    """A process that holds new namespaces until the context ends; skips if that is forbidden."""
    holder = subprocess.Popen(
        [*command, "sh", "-c", "echo ready; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stderr is not None
        if holder.stdout.readline() != b"ready\n":
            pytest.skip(f"no network namespaces here: {holder.stderr.read().decode().strip()}")
        yield holder.pid


@pytest.fixture(scope="session")
def veth_prefixes() -> Iterator[dict[str, list[str]]]:
    """The command prefix that enters the namespace, for each role."""
    root = os.geteuid() == 0
    user = [] if root else ["--user", "--preserve-credentials"]
    with ExitStack() as stack:
        unshare = ["unshare", "--net"] if root else ["unshare", "--user", "--map-root-user", "--net"]
        ap = stack.enter_context(_namespace(unshare))
        inner = [] if root else ["nsenter", "--target", str(ap), *user, "--"]
        sta = stack.enter_context(_namespace([*inner, "unshare", "--net"]))
        prefixes = {
            role: ["nsenter", "--target", str(pid), *user, "--net", "--"]
            for role, pid in (("ap", ap), ("sta", sta))
        }
        hosts = {role: PlainHost(role, prefix) for role, prefix in prefixes.items()}
        joined = hosts["ap"].run(
            ["ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", str(sta)], 10
        )
        if joined.returncode != 0:
            pytest.skip(f"no veth pair here: {joined.stderr.decode().strip()}")
        for role, host in hosts.items():
            for device in ("lo", "veth0"):
                host.run(["ip", "link", "set", device, "up"], 10).check_returncode()
            for address, *flags in (
                (f"{ADDRESSES[role, 'ipv4']}/24",),
                (f"{ADDRESSES[role, 'ipv6']}/64", "nodad"),
            ):
                host.run(["ip", "addr", "add", address, "dev", "veth0", *flags], 10).check_returncode()
        yield prefixes


@pytest.fixture
def link(veth_prefixes: dict[str, list[str]]) -> Link:
    """Access point and station joined by a veth pair."""
    return make_link({role: PlainHost(role, prefix) for role, prefix in veth_prefixes.items()})


@pytest.fixture
def link_with(veth_prefixes: dict[str, list[str]]) -> Iterator[Callable[[str, str], Link]]:
    """The same link with a program replaced by the test: (name, shell script)."""
    with TemporaryDirectory() as name:
        programs = Path(name)
        programs.chmod(0o755)  # tools do not run as root

        def make(program: str, script: str) -> Link:
            file = programs / program
            file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            file.chmod(0o755)
            return make_link(
                {role: PlainHost(role, prefix, programs) for role, prefix in veth_prefixes.items()}
            )

        yield make


@pytest.fixture
def writable_by_all() -> Iterator[Path]:
    """A folder for the files of tools, which do not run as root."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def method() -> Method:
    """A short measurement."""
    return Method(repeats=1, discard_first=0, duration=0.5, warmup=0.2, seed=1)


@pytest.fixture
def recorded() -> Callable[[str], bytes]:
    """A tool's recorded output, by file name."""
    return lambda name: (RECORDED / name).read_bytes()
