"""Another user of a host gains nothing from an agent that is root there."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_processes import worker_of

from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot become another one")

NOBODY = 65534


def as_nobody(script: str, *args: object) -> subprocess.CompletedProcess[str]:
    """Run a script of sh(1) as the user nobody."""
    argv = ["sh", "-c", script, "sh", *map(str, args)]
    return subprocess.run(
        argv, cwd="/", user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, check=False
    )


@pytest.fixture
def squatted() -> Iterator[Path]:
    """A folder that nobody has made beside the folders of agents, under the name of an agent that has ended."""
    folder = Path(as_nobody("mktemp -d /dev/shm/airtoll-agent-XXXXXX").stdout.strip())
    yield folder
    as_nobody('rm -rf "$1"', folder)


# The name of the folder is in the arguments of the worker, which every user can read.
PLANT = """
folder=$(tr '\\0' '\\n' < /proc/$1/cmdline | grep -m1 /airtoll-) || exit 9
mkdir -p "$folder/at-end" && printf '["touch", "%s"]' "$2" > "$folder/at-end/0000000001"
"""


def test_no_command_that_another_user_plants_runs_at_the_end(tmp_path: Path) -> None:
    with Connection("here", [str(binary.local()), "serve"]) as connection:
        worker = worker_of(AgentHost(connection))
        planted = as_nobody(PLANT, worker, tmp_path / "executed")
        assert planted.returncode not in (0, 9), planted
    assert not (tmp_path / "executed").exists()


def test_the_folder_is_closed_to_others_and_new_for_each_agent(host: AgentHost) -> None:
    folder = Path(host.folder())
    assert (folder.stat().st_uid, folder.stat().st_mode & 0o777) == (0, 0o700)
    with Connection("other", [str(binary.local()), "serve"]) as other:
        assert AgentHost(other).folder() != str(folder)


def test_a_folder_that_became_accessible_is_not_used(host: AgentHost, tmp_path: Path) -> None:
    folder = Path(host.folder())
    kept = host.at_end(["touch", f"{tmp_path}/executed"])
    os.chown(folder, NOBODY, NOBODY)
    for use in (host.folder, lambda: host.at_end(["true"])):
        with pytest.raises(Exception, match="is not a folder that only this user can access"):
            use()
    host.connection.close()
    assert not (tmp_path / "executed").exists()
    assert Path(kept).exists()
    subprocess.run(["rm", "-r", folder], check=True)


def test_a_folder_under_the_name_of_an_ended_agent_neither_blocks_nor_deletes(
    host: AgentHost, squatted: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "0000000001"
    victim.touch()
    tmp_path.chmod(0o700)
    assert as_nobody('ln -s "$2" "$1/at-end"', squatted, tmp_path).returncode == 0
    host.forget_at_end(f"{squatted}/at-end/0000000001")
    assert victim.exists()
    assert as_nobody('rm "$1/at-end" && mkdir "$1/at-end" && mkfifo "$1/at-end/2"', squatted).returncode == 0
    host.forget_at_end(f"{squatted}/at-end/2")  # to open a FIFO would wait for its other end


@pytest.mark.parametrize("path", [":/usr/bin:/bin:.", ".", ""])
def test_programs_of_the_working_directory_do_not_run(squatted: Path, tmp_path: Path, path: str) -> None:
    program = squatted / "airtoll-planted"
    assert as_nobody('printf "#!/bin/sh\\ntouch $2" > "$1" && chmod 755 "$1"', program, tmp_path / "executed")
    script = 'cd "$1" && PATH=$2 && exec "$3" serve'
    with Connection(
        "here", ["sh", "-c", script, "sh", str(squatted), path, str(binary.local())]
    ) as connection:
        host = AgentHost(connection)
        assert host.lacking([program.name, "sh"]) == [program.name]
        assert host.run([program.name], 5).returncode == 127
        host.at_end([program.name])
    assert not (tmp_path / "executed").exists()
