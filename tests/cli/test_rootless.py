"""The same study as an ordinary user: everything stands in a user namespace."""

import json
import os
import sys
from pathlib import Path

import pytest
from cli_command import Airtoll

NOBODY = 65534
NO_CAPABILITIES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")

BECOME_NOBODY = f"""
mount -t tmpfs -o mode=755 none /dev/net
mknod -m 666 /dev/net/tun c 10 200
# Python may be installed where only root can look: put it on a path that everyone can walk.
if ! setpriv --reuid={NOBODY} --clear-groups test -x {sys.base_prefix}/bin; then
    mount -t tmpfs none /mnt
    mkdir /mnt/python
    mount --bind {sys.base_prefix} /mnt/python
    mount -t tmpfs -o mode=755 none /{Path(sys.base_prefix).parts[1]}
    mkdir -p {sys.base_prefix}
    mount --bind /mnt/python {sys.base_prefix}
fi
exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --no-new-privs "$0" "$@"
"""


@pytest.mark.usefixtures("needs_air")
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are rootless already")
def test_a_study_runs_without_any_privilege(airtoll: Airtoll, study: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    if all(parent.stat().st_mode & 0o001 for parent in (Path(sys.prefix), *Path(sys.prefix).parents)):
        user = NOBODY
        prefix: tuple[str, ...] = ("unshare", "--mount", "sh", "-ec", BECOME_NOBODY)
        for parent in (tmp_path, *tmp_path.parents[:2]):
            parent.chmod(0o755)
        os.chown(home, NOBODY, NOBODY)
    else:  # only root can reach this installation: be root in name alone
        user = 0
        prefix = NO_CAPABILITIES
    done = airtoll("run", study, "--out", home / "result", prefix=prefix)
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in home.glob("result/runs/*/run.json")]
    assert len(records) == 4
    assert {record["link"]["scheduling"] for record in records} == {"other"}
    assert {path.stat().st_uid for path in home.glob("result/runs/*/run.json")} == {user}
