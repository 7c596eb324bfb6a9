"""The built kernel is found by the recipe it was built from, and a machine that cannot build one says why."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from airtoll.errors import UsageError
from airtoll.guest import boot, build, recipe


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def put_kernel(text: str = "kernel") -> recipe.Kernel:
    directory = recipe.directory()
    directory.mkdir(parents=True)
    (directory / recipe.KERNEL).write_text(text)
    kernel = recipe.Kernel(directory / recipe.KERNEL, "linux-source-7.3", "7.3.4-1", "ab" * 32, len(text))
    (directory / recipe.FACTS).write_text(kernel.describe())
    return kernel


def test_a_built_kernel_is_found(cache: Path) -> None:
    assert recipe.built() is None
    assert recipe.missing() == "the guest is not built: airtoll lab build"
    kernel = put_kernel()
    assert kernel.file.is_relative_to(cache)
    assert recipe.built() == kernel
    assert recipe.missing() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="this user is not root")
@pytest.mark.usefixtures("cache")
def test_root_runs_no_kernel_that_another_user_can_write(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = put_kernel()
    monkeypatch.setattr(recipe, "unsupported", lambda: None)
    assert recipe.needed() == kernel
    for path in (kernel.file, kernel.file.parent):
        os.chown(path, 65534, -1)
        with pytest.raises(UsageError, match=rf"^{path}: belongs to another user, and airtoll runs it"):
            recipe.needed()
        os.chown(path, 0, -1)
    kernel.file.chmod(0o766)
    with pytest.raises(
        UsageError, match=rf"^{kernel.file}: other users can write to it, and airtoll runs it"
    ):
        recipe.needed()


@pytest.mark.usefixtures("cache")
def test_the_kernel_that_was_checked_runs_even_if_another_file_gets_its_name() -> None:
    kernel = put_kernel("#!/bin/sh\necho checked\n")
    kernel.file.chmod(0o755)
    with kernel.opened() as descriptor:
        kernel.file.unlink()
        kernel.file.write_text("#!/bin/sh\necho replaced\n")
        argv = boot.command(descriptor, "virtual", None)
        done = subprocess.run(argv, pass_fds=[descriptor], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"checked\n"


@pytest.mark.parametrize(("part", "other"), [("configuration", "CONFIG_64BIT=y\n"), ("patches", [])])
@pytest.mark.usefixtures("cache")
def test_a_kernel_of_another_recipe_is_not_used(
    monkeypatch: pytest.MonkeyPatch, part: str, other: object
) -> None:
    put_kernel()
    monkeypatch.setattr(recipe, part, lambda: other)
    assert recipe.built() is None


@pytest.mark.parametrize("facts", ["", "{", "[]", json.dumps({"package": "linux-source-7.3"})])
@pytest.mark.usefixtures("cache")
def test_a_damaged_description_counts_as_no_kernel(facts: str) -> None:
    kernel = put_kernel()
    (kernel.file.parent / recipe.FACTS).write_text(facts)
    assert recipe.built() is None


def test_a_machine_without_build_tools_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = build.obstacle() or ""
    assert reason.startswith("building a guest requires")
    assert "\n" not in reason


def test_another_architecture_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe.platform, "machine", lambda: "aarch64")
    recipe.unsupported.cache_clear()
    try:
        assert recipe.missing() == "a guest requires an x86_64 machine, and this is aarch64"
        assert build.obstacle() == recipe.missing()
    finally:
        recipe.unsupported.cache_clear()


@pytest.mark.usefixtures("cache")
def test_a_build_without_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: None)
    monkeypatch.setattr(build, "DISK_BYTES", 10**18)
    with pytest.raises(build.AirtollError, match=r"requires 1000000000\.0 GB in .*, which has"):
        build.build(build.MIRROR, lambda _: None)


def test_a_failed_download_names_its_cause_and_leaves_nothing(cache: Path) -> None:
    if (reason := build.obstacle()) is not None:
        pytest.skip(f"this machine cannot build a guest: {reason}")
    with pytest.raises(build.AirtollError, match=r"building the guest: apt-get failed: .*127\.0\.0\.1"):
        build.build("http://127.0.0.1:9/debian", lambda _: None)
    assert [entry.name for entry in (cache / "airtoll" / "guest").iterdir()] == []


MAKEFILE = """
all: $(O)/linux
allnoconfig: ; @echo CONFIG > $(O)/.config
$(O)/%.o: ; @echo "  CC      $*.o"; echo $* > $@; touch $(O)/.$*.o.cmd
$(O)/b.o: $(O)/a.o
$(O)/c.o: $(O)/b.o
$(O)/linux: $(O)/a.o $(O)/b.o $(O)/c.o ; @cat $^ > $@
"""


def test_an_interrupted_build_continues_with_its_objects(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = []

    def prepare(work: Path, *_: object) -> None:
        prepared.append(work)
        (work / "linux-source-9").mkdir()
        (work / "linux-source-9" / "Makefile").write_text(MAKEFILE)
        (work / "version").write_text("9-1")

    monkeypatch.setattr(build, "_prepare", prepare)
    monkeypatch.setattr(build, "_OBJECTS", 3)
    monkeypatch.setattr(build, "obstacle", lambda: None)
    assert build.outlook().startswith("the download has 170 MB; compiling takes about ")

    def stop_in_second(progress: build.Progress) -> None:
        if progress.objects == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build.build(build.MIRROR, stop_in_second)
    assert recipe.built() is None
    guests = cache / "airtoll" / "guest"
    (kept,) = guests.glob("*.build")
    for name in ("b.o", ".b.o.cmd"):  # which may have been complete
        (kept / "out" / name).unlink(missing_ok=True)
    assert build.outlook().startswith(
        "continuing an interrupted build with 1 of about 3 objects: compiling takes"
    )

    seen: list[build.Progress] = []
    kernel = build.build(build.MIRROR, seen.append)
    assert len(prepared) == 1
    assert seen[-1].objects == seen[-1].total == 3
    assert {progress.objects for progress in seen} == {1, 2, 3}  # a.o is not compiled again
    assert kernel.file.read_text() == "a\nb\nc\n"
    assert kernel.version == "9-1"
    assert [entry.name for entry in guests.iterdir()] == [recipe.directory().name]


def test_a_compilation_with_an_error_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(work: Path, *_: object) -> None:
        (work / "linux-source-9").mkdir()
        (work / "linux-source-9" / "Makefile").write_text(MAKEFILE + "$(O)/c.o: ; @echo error: c; exit 1\n")
        (work / "version").write_text("9-1")

    monkeypatch.setattr(build, "_prepare", prepare)
    monkeypatch.setattr(build, "obstacle", lambda: None)
    with pytest.raises(build.AirtollError, match=r"building the guest: make failed: error: c"):
        build.build(build.MIRROR, lambda _: None)
    assert [entry.name for entry in (cache / "airtoll" / "guest").iterdir()] == []


def test_a_source_that_another_user_could_write_is_not_continued(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: None)
    source = cache / "airtoll" / "guest" / f"{recipe.directory().name}.build"
    source.mkdir(parents=True)
    (source / "version").write_text("9-1")
    assert build.outlook().startswith("continuing an interrupted build")
    source.chmod(0o777)
    assert build.outlook().startswith("the download has 170 MB")
    prepared: list[Path] = []

    def prepare(work: Path, *_: object) -> None:
        prepared.append(work)
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "_prepare", prepare)
    with pytest.raises(KeyboardInterrupt):
        build.build(build.MIRROR, lambda _: None)
    assert prepared
    assert not source.exists()
