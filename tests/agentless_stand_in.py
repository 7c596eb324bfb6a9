"""Stand-ins for the programs of macOS and Windows on a machine with Linux, written after documented output.

No Mac and no machine with Windows was available. The outputs of `system_profiler -json SPAirPortDataType` and of
`netsh wlan show interfaces` have the form in which tests of public projects show them. Older releases of Windows print
`BSSID` instead of `AP BSSID`, and no `Band`. All names and addresses are made up.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from airtoll.host import SYSTEM_PATH

MAC: dict[str, Any] = {
    "SPAirPortDataType": [
        {
            "spairport_airport_interfaces": [
                {
                    "_name": "en0",
                    "spairport_caps_airdrop": "spairport_caps_supported",
                    "spairport_current_network_information": {
                        "_name": "<redacted>",
                        "spairport_network_channel": "36 (5GHz, 80MHz)",
                        "spairport_network_country_code": "DE",
                        "spairport_network_mcs": 9,
                        "spairport_network_phymode": "802.11ac",
                        "spairport_network_rate": 866,
                        "spairport_network_type": "spairport_network_type_station",
                        "spairport_security_mode": "spairport_security_mode_wpa2_personal",
                        "spairport_signal_noise": "-48 dBm / -93 dBm",
                    },
                    "spairport_status_information": "spairport_status_connected",
                },
                {"_name": "awdl0", "spairport_current_network_information": {}},
            ],
            "spairport_software_information": {"spairport_corewlan_version": "16.0 (1657)"},
        }
    ]
}

WINDOWS = """
There is 1 interface on the system:

    Name                   : Wi-Fi
    Description            : Example Wi-Fi 6 Adapter
    GUID                   : 00000000-1111-2222-3333-444444444444
    Physical address       : 02:00:5e:10:00:01
    Interface type         : Primary
    State                  : connected
    SSID                   : airtoll
    AP BSSID               : 02:00:5E:10:00:02
    Band                   : 5 GHz
    Channel                : 36
    Network type           : Infrastructure
    Radio type             : 802.11ac
    Authentication         : WPA2-Personal
    Cipher                 : CCMP
    Connection mode        : Profile
    Receive rate (Mbps)    : 866.7
    Transmit rate (Mbps)   : 866.7
    Signal                 : 99%
    Profile                : airtoll
    QoS MSCS Configured         : 0
    QoS Map Allowed by Policy   : 0

    Hosted network status  : Not available

"""

PROGRAMS: dict[str, dict[str, str]] = {
    "macos": {
        "system_profiler": "cat {folder}/$(tail -n 1 {actions} | cut -d ' ' -f 2)",
        "sw_vers": "echo 15.1",
        "sysctl": "printf 'Apple M2\\n8\\n'",
    },
    "windows": {
        "netsh": "cat {folder}/$(tail -n 1 {actions} | cut -d ' ' -f 2)",
        "cmd": r"printf '\r\nMicrosoft Windows [Version 10.0.26100.2033]\r\n'",
        "where": 'command -v "$1"',
        "ping": 'exec {python} {file} "$@"',
    },
}
"""The reports are files with the name of the level, the second word of the last line of the hook's actions."""


def write_programs(folder: Path, system: str, actions: Path) -> Path:
    """Write the programs of a system into a new folder, which is returned."""
    programs = folder / system
    programs.mkdir()
    words = {"folder": programs, "actions": actions, "python": sys.executable, "file": __file__}
    for name, script in PROGRAMS[system].items():
        (programs / name).write_text(f"#!/bin/sh\n{script.format(**words)}\n")
        (programs / name).chmod(0o755)
    open_network, wpa2 = ("none", "Open"), ("wpa2_personal", "WPA2-Personal")
    for level, (of_mac, of_windows) in {"open": open_network, "restore": open_network, "ccmp": wpa2}.items():
        netsh = WINDOWS.replace("WPA2-Personal", of_windows)
        netsh = netsh.replace("CCMP", "None") if of_windows == "Open" else netsh
        report = json.dumps(MAC).replace("wpa2_personal", of_mac) if system == "macos" else netsh
        (programs / level).write_text(report.replace("\n", "\r\n") if system == "windows" else report)
    return programs


def ping_as_windows(argv: list[str]) -> int:
    """Ping by the program of Linux, and print what that of Windows prints."""
    parser = argparse.ArgumentParser()
    for option, value in (("-n", "4"), ("-l", "32"), ("-w", "4000")):
        parser.add_argument(option, default=value)
    parser.add_argument("-4", action="store_true")
    parser.add_argument("address")
    asked = parser.parse_args(argv)
    count, size, address = asked.n, asked.l, asked.address
    real = shutil.which("ping", path=SYSTEM_PATH) or ""
    done = subprocess.run(
        [real, "-n", "-c", count, "-s", size, address], capture_output=True, text=True, check=False
    )
    times = [float(time) for time in re.findall(r"time=([\d.]+) ms", done.stdout)]
    lines = ["", f"Pinging {address} with {size} bytes of data:"]
    for time in times:
        lines.append(
            f"Reply from {address}: bytes={size} time{f'={time:.0f}' if time >= 1 else '<1'}ms TTL=64"
        )
    lost = int(count) - len(times)
    share = f"({100 * lost // int(count)}% loss)"
    lines += ["", f"Ping statistics for {address}:"]
    lines.append(f"    Packets: Sent = {count}, Received = {len(times)}, Lost = {lost} {share},")
    print("\r\n".join(lines), end="\r\n")
    return 0 if times else 1


if __name__ == "__main__":
    sys.exit(ping_as_windows(sys.argv[1:]))
