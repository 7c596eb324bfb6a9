"""Nothing is written into a folder in which another user can replace files, nor through a link that appears there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from store_fakes import STUDY, make_plan

from airtoll import durable, ownership
from airtoll.errors import UsageError
from airtoll.store import Result
from airtoll.store.layout import check_target


@pytest.fixture(autouse=True)
def _as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "ROOT", os.geteuid())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir(mode=0o755)
    made.chmod(0o755)
    return made


def give_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the owner of the folder, and of all others of the test, another user than root, who runs the test."""
    root = folder.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: root)
    monkeypatch.setattr(ownership, "ROOT", root)
    monkeypatch.delenv("SUDO_UID", raising=False)


def test_no_file_is_written_into_a_folder_of_another_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_away(folder, monkeypatch)
    words = f"^{folder}: belongs to another user: as root, airtoll writes only into folders that no other user can "
    with pytest.raises(UsageError, match=words):
        durable.publish(folder, {"report.html": b""})
    for directory in (folder, folder / "new" / "newer"):
        with pytest.raises(UsageError, match=words):
            durable.make_directory(directory)
    assert not list(folder.iterdir())
    monkeypatch.setenv("SUDO_UID", str(folder.stat().st_uid))
    durable.publish(folder, {"report.html": b""})


def test_users_other_than_root_may_share_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "ROOT", os.geteuid() + 1)
    folder.chmod(0o777)
    durable.publish(folder, {"report.html": b"new"})
    assert (folder / "report.html").read_bytes() == b"new"


@pytest.mark.parametrize("subordinate", [False, True])
def test_a_folder_mounted_into_a_container_belongs_to_no_user(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subordinate: bool
) -> None:
    """A user of this machine can give a folder to a subordinate id, which has no account (subuid(5))."""
    give_away(folder, monkeypatch)
    owner, file = folder.stat().st_uid, tmp_path / "subuid"
    file.write_text(f"me:{owner + 2}:65536\n" + f"other:{owner}:1\n" * subordinate)

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(ownership.pwd, "getpwuid", unknown)
    monkeypatch.setattr(ownership, "SUBORDINATE", file)
    if subordinate:
        with pytest.raises(UsageError, match="belongs to another user"):
            durable.publish(folder, {"report.html": b"new"})
        return
    durable.publish(folder, {"report.html": b"new"})
    assert (folder / "report.html").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("mode", "private", "allowed"),
    [(0o775, True, True), (0o775, False, False), (0o777, True, False), (0o1777, False, True)],
    ids=["own group", "group of several", "everyone", "sticky"],
)
def test_a_folder_that_others_can_write_to_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mode: int, private: bool, allowed: bool
) -> None:
    monkeypatch.setattr(ownership, "_is_private", lambda _gid, _uid: private)
    folder.chmod(mode)
    if allowed:
        durable.publish(folder, {"report.html": b"new"})
        assert (folder / "report.html").read_bytes() == b"new"
        durable.make_directory(folder / "own")
    else:
        with pytest.raises(UsageError, match=f"^{folder}: other users can write to it: "):
            durable.publish(folder, {"report.html": b"new"})
        assert not list(folder.iterdir())


def test_a_result_that_others_can_write_to_is_not_resumed(tmp_path: Path) -> None:
    result, plan = tmp_path / "result", make_plan()
    Result.create(result, STUDY, plan, "fake", quick=False).close()
    unfinished = result / "runs" / ".tmp-unfinished"
    unfinished.mkdir()
    for folder in (result, result / "runs"):
        folder.chmod(0o777)
        with pytest.raises(UsageError, match=f"^{folder}: other users can write to it"):
            Result.resume(result, STUDY, plan)
        folder.chmod(0o755)
    assert unfinished.exists()
    Result.resume(result, STUDY, plan).close()
    assert not unfinished.exists()


def test_no_result_is_created_where_others_can_replace_it(folder: Path) -> None:
    folder.chmod(0o777)
    for directory in (folder, folder / "result"):
        with pytest.raises(UsageError, match=f"^{folder}: other users can write to it"):
            Result.create(directory, STUDY, make_plan(), "fake", quick=False)
    assert not list(folder.iterdir())


def test_every_folder_of_a_result_down_to_the_target_is_checked(tmp_path: Path) -> None:
    (tmp_path / "paper" / "tables").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "paper", tmp_path / "paper" / "tables"):
        folder.chmod(0o777)
        with pytest.raises(UsageError, match=f"^{folder}: other users can write to it"):
            check_target(tmp_path, tmp_path / "paper" / "tables" / "new")
        folder.chmod(0o755)
    check_target(tmp_path, tmp_path / "paper" / "tables" / "new")


def test_a_link_that_appears_among_unfinished_files_is_not_followed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = durable.staging

    @contextmanager
    def with_link(parent: Path, name: str) -> Iterator[Path]:
        with real(parent, name) as stage:
            (stage / "report.html").symlink_to(tmp_path / "mine")
            yield stage

    monkeypatch.setattr(durable, "staging", with_link)
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(FileExistsError):
        durable.publish(folder, {"report.html": b"new"})
    assert (tmp_path / "mine").read_text() == "mine"


def test_the_mode_of_the_target_of_a_link_does_not_change(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").touch(mode=0o600)
    (tmp_path / "raw").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="is a link"):
        durable.move_in(tmp_path / "raw", folder / "raw")
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o600
