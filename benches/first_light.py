"""What the emulated air is held to, measured on this machine.

    make bench                       prints the tables
    make bench WRITE=docs/benchmarks.md   and keeps them

1. Throughput: one saturated station, UDP, 1500-byte MSDUs (1472 bytes of payload over IPv4), against the closed
   form of the medium; median of several runs.
2. Added delay: a ping-pong of 128-byte datagrams over the idle link, against the mean of the medium's own share
   in closed form (PPDUs, interframe spaces, Ack, backoff); what is left is the emulator and both IP stacks.
   Both stacks without the emulator (a veth pair) are measured beside it.
3. The quickstart study, whole, and `airtoll --help`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from airtoll.labs.air import Air
from airtoll.labs.base import Link
from airtoll.labs.namespace import machine_facts
from airtoll.probes.iperf3 import Iperf3
from airtoll.probes.rtt import RoundTrip
from airtoll.study.cell import Cell, Method

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))
REPEATS = 5
