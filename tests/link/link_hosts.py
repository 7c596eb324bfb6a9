"""Hosts for tests of `airtoll link`: unnamed network namespaces, joined by a bridge, that run the command."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))
DEVICE = "airtoll0"


class Host:
    """A namespace, kept alive by a sleeping process."""

    def __init__(self, *, user_namespace: bool = False) -> None:
        """With `user_namespace`, the host has a user namespace in which only root is mapped."""
        self._user = ["--user", "--map-root-user"] if user_namespace else []
        self._holder = subprocess.Popen(
            ["unshare", *self._user, "--net", "sh", "-c", "echo ready; exec sleep infinity"],
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"ready\n"
        self.pid = self._holder.pid

    def command(self, *argv: str) -> list[str]:
        user = [f"--user=/proc/{self.pid}/ns/user", "--preserve-credentials"] if self._user else []
        return ["nsenter", *user, f"--net=/proc/{self.pid}/ns/net", "--", *argv]

    def run(self, *argv: str, check: bool = True) -> str:
        done = subprocess.run(self.command(*argv), capture_output=True, text=True, timeout=60, check=False)
        assert not check or done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    def ip(self, arguments: str) -> str:
        return self.run("ip", *arguments.split())

    def has_device(self, name: str = DEVICE) -> bool:
        done = subprocess.run(self.command("ip", "link", "show", name), capture_output=True, check=False)
        return done.returncode == 0

    def close(self) -> None:
        self._holder.kill()
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()


class Program:
    """A running program on a host, with the lines that it has printed."""

    def __init__(self, host: Host, *argv: str) -> None:
        self.host = host
        self.lines: list[str] = []
        self._heard = threading.Condition()
        self.process = subprocess.Popen(
            host.command(*argv), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._heard:
                self.lines.append(line.rstrip())
                self._heard.notify_all()

    def said(self, text: str) -> int:
        """The number of lines with this text."""
        return sum(text in line for line in self.lines)

    def wait(self, text: str, times: int = 1, timeout_s: float = 30) -> str:
        """Wait until this number of lines have the text; the last of them."""
        with self._heard:
            found = self._heard.wait_for(lambda: self.said(text) >= times, timeout_s)
            assert found, f"{text!r} is not in {times} lines: {self.lines}"
        return [line for line in self.lines if text in line][times - 1]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop the program; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(timeout=15)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


class End(Program):
    """One running end of a link."""

    def __init__(
        self, host: Host, role: str, config: Path, status_socket: Path, prefix: tuple[str, ...] = ()
    ) -> None:
        super().__init__(host, *prefix, AIRTOLL, "link", role, str(config))
        self._socket = status_socket

    def status(self) -> dict[str, Any]:
        done = subprocess.run(
            [AIRTOLL, "link", "status", "--socket", str(self._socket)],
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found


class Network:
    """Hosts on one bridge: host N has 198.51.100.N and 02:00:00:00:00:N on its `eth0`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._switch = Host()
        self._switch.ip("link add br0 type bridge")
        self._switch.ip("link set br0 up")
        self.hosts: dict[int, Host] = {}
        self.ends: list[End] = []
        (folder / "pass").write_text("correct horse battery staple\n")
        (folder / "pass").chmod(0o600)

    def host(self, number: int, *, user_namespace: bool = False) -> Host:
        if number not in self.hosts:
            host = self.hosts[number] = Host(user_namespace=user_namespace)
            port = f"port{number}"
            self._switch.ip(f"link add {port} type veth peer name eth0 netns {host.pid}")
            self._switch.ip(f"link set {port} master br0 up")
            host.ip("link set lo up")
            host.ip(f"link set eth0 address 02:00:00:00:00:{number:02x} up")
            host.ip(f"address add 198.51.100.{number}/24 dev eth0")
        return self.hosts[number]

    def forger(self, number: int) -> Host:
        """A host whose source addresses the bridge does not learn: as on the air, forged frames divert no traffic."""
        host = self.host(number)
        self._switch.ip(f"link set port{number} type bridge_slave learning off")
        return host

    def cable(self, number: int, state: str) -> None:
        """Disconnect a host's cable (`down`) or connect it (`up`)."""
        self._switch.ip(f"link set port{number} {state}")

    def start(
        self,
        role: str,
        number: int,
        transport: str = "ethernet",
        extra: str = "",
        prefix: tuple[str, ...] = (),
        **keys: str,
    ) -> End:
        """Start an end on a host, with a command after `prefix`. Host 1 has the access point."""
        socket_path = self.folder / "run" / f"{number}.sock"
        settings = {
            "name": '"office"',
            "device": f'"{DEVICE}"',
            "ciphers": '["enhanced4", "ccmp"]',
            "passphrase_file": '"pass"',
            "status_socket": f'"{socket_path}"',
            **({"addresses": '["10.77.0.1/24", "fd77::1/64"]'} if role == "ap" else {}),
            **keys,
        }
        lines = [f"{key} = {value}" for key, value in settings.items() if value]
        if transport == "ethernet":
            lines += ["[ethernet]", 'interface = "eth0"']
        else:
            lines += [
                "[udp]",
                f'local = "198.51.100.{number}:7700"',
                f'address = "02:00:00:00:00:{number:02x}"',
            ]
            lines += ['peer = "198.51.100.1:7700"'] if role == "sta" else []
        config = self.folder / f"{role}{number}.toml"
        config.write_text("\n".join([*lines, extra]))
        end = End(self.host(number), role, config, socket_path, prefix)
        self.ends.append(end)
        return end

    def close(self) -> None:
        for end in self.ends:
            if end.process.poll() is None:
                end.process.kill()
            end.stop()
        for host in [*self.hosts.values(), self._switch]:
            host.close()
