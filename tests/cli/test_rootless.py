"""The same study as an unprivileged user: everything is in a user namespace."""

import json
import os
import sys
from pathlib import Path

import pytest
from cli_command import Airtoll, assert_performed

import airtoll as package

NOBODY = 65534

# In a mount namespace: a /dev/net/tun for everyone, and access for everyone to the files of the test (Python may be
# installed in root's home, which only root can access). $paths are absolute and have no blanks.
BECOME_NOBODY = """
mount -t tmpfs -o mode=755 none /dev/net
mknod -m 666 /dev/net/tun c 10 200
mount -t tmpfs none /mnt
for path in $paths; do
    mkdir -p "/mnt$path"
    mount --bind "$path" "/mnt$path"
done
for top in $(printf '/%s\\n' $paths | cut -d/ -f3 | sort -u); do
    mount -t tmpfs -o mode=1777 none "/$top"
done
for path in $paths; do
    mkdir -p "$path"
    mount --bind "/mnt$path" "$path"
done
exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs "$0" "$@"
"""


@pytest.mark.usefixtures("needs_air")
@pytest.mark.skipif(os.geteuid() != 0, reason="this user is not root: the other tests run without privileges")
def test_a_study_runs_without_any_privilege(airtoll: Airtoll, study: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    tmp_path.chmod(0o755)
    assert package.__file__ is not None
    needed = {Path(sys.base_prefix), Path(sys.prefix), Path(package.__file__).parents[2], tmp_path}
    outermost = [path for path in needed if not needed & set(path.parents)]
    paths = " ".join(str(path) for path in outermost if path.parts[1] != "usr")
    done = airtoll(
        *("run", study, "--out", home / "result"),
        prefix=("env", f"paths={paths}", "unshare", "--mount", "sh", "-ec", BECOME_NOBODY),
    )
    assert_performed(done, home / "result")
    records = [json.loads(path.read_text()) for path in home.glob("result/runs/*/run.json")]
    assert {record["run"]["order"] for record in records} == {1, 2, 3, 4}  # a busy machine repeats runs
    assert {record["link"]["scheduling"] for record in records} == {"other"}
    assert {path.stat().st_uid for path in home.glob("result/runs/*/run.json")} == {NOBODY}
