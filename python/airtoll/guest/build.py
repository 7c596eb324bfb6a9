"""Builds the guest's kernel: downloads Debian's source package, patches, configures and compiles it.

The patched source is prepared in a temporary directory beside the built kernel, and then gets the name that it keeps
until the kernel is complete. An interrupted build therefore leaves either nothing, or a source with compiled objects.
The next build continues with them: make compiles every object again that has no `.cmd` file beside it, which make
writes after the object. A failed build leaves nothing. The kernel gets its final name when it is complete.
"""

import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airtoll import durable
from airtoll.errors import AirtollError, UsageError
from airtoll.guest import recipe

MIRROR: Final = "http://deb.debian.org/debian"
"""The default mirror of Debian's packages."""

DISK_BYTES: Final = 1_000_000_000
"""Free space that a build requires."""

_KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"

_COMMANDS: Final = {
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
    "tar": "tar",
    "xz": "xz-utils",
    "patch": "patch",
    "make": "make",
    "gcc": "gcc",
    "ld": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "setpriv": "util-linux",
}
"""Required commands, with their Debian packages."""

# Large parts of the source that this configuration never reads. Kconfig files and Makefiles must remain.
_UNUSED: Final = (
    *("Documentation/*.rst", "Documentation/*.yaml", "Documentation/*.svg", "Documentation/ABI"),
    *("arch/[!ux]*/*.[chS]", "arch/*/*.dts*", "rust/*.rs", "samples/*.[ch]"),
    *("drivers/[!bcnt]*/*.[ch]", "drivers/c[!h]*/*.[ch]", "drivers/net/[!w]*/*.[ch]"),
    *("drivers/net/wireless/[!v]*/*.[ch]", "fs/[!dehknprs]*/*.[ch]", "sound/*.[ch]", "tools/[!i]*"),
)

_COMPILED: Final = re.compile(r"\s+(CC|AS)\s")
_OBJECTS: Final = 800
"""Objects of a complete build, which make compiles from C and assembler, to within a few percent."""

_VERSION: Final = "version"
"""File of a kept source with the version of its package. It exists when the source is complete."""

_BENCHMARK: Final = "".join(
    f"int f{n}(int*a,int b){{int s=b;for(int i=0;i<a[{n % 7}];i++){{s+=a[i]*{n}^(s>>{n % 13 + 1});"
    f"if(s&{1 << n % 11})s-=a[i+b];else a[i]=s/{n + 1};}}return s;}}\n"
    for n in range(100)
)
"""A C program whose compilation shows the speed of this machine."""

_BENCHMARKS: Final = 600.0
"""CPU time of the compilation of a kernel, in compilations of `_BENCHMARK`."""


@dataclass(frozen=True)
class Progress:
    """The state of a build."""

    doing: str
    share: float  # of the complete build, from 0 to 1
    objects: int = 0  # compiled so far, while the kernel is compiled
    total: int = 0  # objects of the kernel


OnProgress = Callable[[Progress], None]


def obstacle() -> str | None:
    """Return why this machine cannot build the kernel, with the remedy, or None if it can."""
    if (reason := recipe.unsupported()) is not None:
        return reason
    lacking = sorted({package for command, package in _COMMANDS.items() if shutil.which(command) is None})
    if not os.path.exists(_KEYRING):
        if shutil.which("apt-get") is None:
            return "building a guest requires Debian's package tools; this system has no apt-get"
        lacking.append("debian-archive-keyring")
    if lacking:
        return f"building a guest requires packages: apt-get install {' '.join(lacking)}"
    return None


def build(mirror: str, on_progress: OnProgress) -> recipe.Kernel:
    """Build the kernel of the recipe and return it.

    Raises UsageError if this machine cannot build it, AirtollError with the words of the failing command.
    """
    if (reason := obstacle()) is not None:
        raise UsageError(reason)
    final = recipe.directory()
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(final.parent).free
        if free < DISK_BYTES and not _can_continue(_kept()):
            raise AirtollError(
                f"building a guest requires {DISK_BYTES / 1e9:.1f} GB in {final.parent}, which has "
                f"{free / 1e9:.1f} GB"
            )
        with _alone(final.parent):
            work = _kept()
            if not _can_continue(work):
                for older in final.parent.glob(f"*{_KEPT}"):  # also of other recipes
                    shutil.rmtree(older)
                with durable.staging(final.parent, "build") as stage:
                    _prepare(stage, mirror, on_progress)
                    stage.chmod(0o755)  # whatever the umask: see _can_continue
                    stage.rename(work)
            try:
                made = _compile(work, on_progress)
            except AirtollError:
                shutil.rmtree(work)  # otherwise a damaged object would stop every later build
                raise
            shutil.rmtree(final, ignore_errors=True)
            made.rename(final)
            shutil.rmtree(work)
    except OSError as error:
        raise AirtollError(f"building the guest in {final.parent}: {error.strerror or error}") from error
    kernel = recipe.built()
    assert kernel is not None
    return kernel


_KEPT: Final = ".build"


def _kept() -> Path:
    """The directory with the source and the objects of an interrupted build of this recipe."""
    return recipe.directory().with_suffix(_KEPT)


def _can_continue(work: Path) -> bool:
    """Whether the directory has a complete source that no other user could have put there: a build runs its files."""
    if not (work / _VERSION).is_file():
        return False
    found = work.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _compiled(work: Path) -> int:
    """The number of objects that an interrupted build left."""
    return sum(1 for _ in (work / "out").rglob(".*.o.cmd"))


def outlook() -> str:
    """The work of a build, and how long its compilation takes at the speed that this machine has now.

    Raises UsageError if this machine cannot build a kernel.
    """
    if (reason := obstacle()) is not None:
        raise UsageError(reason)
    began_s = time.monotonic()
    gcc = ["gcc", "-O2", "-x", "c", "-c", "-o", "/dev/null", "-"]
    _run(gcc, cwd=Path("/"), stdin=_BENCHMARK)
    one_s = time.monotonic() - began_s
    work, cores = _kept(), len(os.sched_getaffinity(0))
    done = min(_OBJECTS, _compiled(work)) if _can_continue(work) else 0
    takes_s = _BENCHMARKS * one_s * (1 - done / _OBJECTS) / cores
    takes = f"compiling takes about {max(1, round(takes_s / 60))} min on {cores} {'core' if cores == 1 else 'cores'}"
    if _can_continue(work):
        return f"continuing an interrupted build with {done} of about {_OBJECTS} objects: {takes}"
    return f"the download has 170 MB; {takes}"


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Let no other process build in the directory, and remove what an interrupted build left there."""
    try:
        lock = durable.Lock(directory)
    except UsageError:
        raise UsageError(f"another airtoll is building a guest in {directory}") from None
    try:
        durable.remove_leftovers(directory)
        yield
    finally:
        lock.release()


def _prepare(work: Path, mirror: str, on_progress: OnProgress) -> None:
    """Put the patched source into the directory `work`."""
    on_progress(Progress(f"downloading {recipe.PACKAGE}", 0.0))
    suites = (recipe.SUITE, recipe.SUITE.removesuffix("-backports"))
    source_package, version = download(work, mirror, suites, recipe.PACKAGE)
    regulatory_package, _ = download(work, mirror, suites, "wireless-regdb")
    on_progress(Progress(f"unpacking {recipe.PACKAGE} {version}", 0.05))
    source = _unpack(work, source_package)
    _take_regulatory_database(work, regulatory_package, source)
    for patch in recipe.patches():
        _run(["patch", "--strip=1", "--forward", "--quiet"], cwd=source, stdin=patch)
    (work / _VERSION).write_text(version, encoding="utf-8")


def _compile(work: Path, on_progress: OnProgress) -> Path:
    """Compile the source in `work`, or continue. Returns a directory with the kernel and its description."""
    (source,) = work.glob("linux-source-*/")
    out = work / "out"
    make = ["make", "-C", str(source), "ARCH=um", f"O={out}"]
    fragment = work / "config"
    fragment.write_text(recipe.configuration(), encoding="utf-8")
    if not (out / ".config").exists():  # which has this name when it is complete
        on_progress(Progress("configuring the kernel", 0.1))
        out.mkdir(exist_ok=True)
        _run([*make, f"KCONFIG_ALLCONFIG={fragment}", "allnoconfig"], cwd=source)
    cores = len(os.sched_getaffinity(0))
    compiled = _compiled(work)
    for line in _lines([*make, f"-j{cores}"], cwd=source):
        compiled += _COMPILED.match(line) is not None
        done = min(compiled, _OBJECTS)
        share = 0.1 + 0.9 * done / _OBJECTS
        on_progress(Progress("compiling the kernel", share, done, _OBJECTS))
    return _finished(work, out / recipe.KERNEL, (work / _VERSION).read_text(encoding="utf-8"))


def _finished(work: Path, kernel: Path, version: str) -> Path:
    """A new directory with the kernel and its description."""
    made = work / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    shutil.copy2(kernel, made / recipe.KERNEL)
    with (made / recipe.KERNEL).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    described = recipe.Kernel(made / recipe.KERNEL, recipe.PACKAGE, version, digest, 0).describe()
    (made / recipe.FACTS).write_text(described, encoding="utf-8")
    return made


def download(work: Path, mirror: str, suites: Sequence[str], package: str) -> tuple[Path, str]:
    """Download a package to `work`, verified by Debian's keys. Returns the file and the package's version.

    The first call for a directory determines the suites of the later calls. Raises AirtollError if apt-get fails.
    """
    root = work / "apt"
    if not root.exists():
        for part in ("etc/apt/preferences.d", "state/lists/partial", "cache/archives/partial"):
            (root / part).mkdir(parents=True)
        (root / "status").touch()
        lines = [f"deb [signed-by={_KEYRING}] {mirror} {suite} main\n" for suite in suites]
        (root / "etc/apt/sources.list").write_text("".join(lines), encoding="utf-8")
        _run([*_apt(root), "update", "-qq"], cwd=work)
    _run([*_apt(root), "download", "-qq", package], cwd=work)
    (file,) = work.glob(f"{package}_*.deb")
    version = _run(["dpkg-deb", "--field", str(file), "Version"], cwd=work).strip()
    return file, version


def _apt(root: Path) -> list[str]:
    """apt-get with its own directories below `root`, so that it requires no privileges and changes no system."""
    settings = {
        "Dir::Etc::sourcelist": root / "etc/apt/sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferencesparts": root / "etc/apt/preferences.d",
        "Dir::State": root / "state",
        "Dir::State::status": root / "status",
        "Dir::Cache": root / "cache",
        "APT::Sandbox::User": "",
        "APT::Architecture": "amd64",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "APT::Update::Error-Mode": "any",
    }
    return ["apt-get", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]


def _unpack(work: Path, package: Path) -> Path:
    """The source tree in a source package, without unused parts."""
    unpacked = work / "package"
    _run(["dpkg-deb", "--extract", str(package), str(unpacked)], cwd=work)
    package.unlink()
    (archive,) = unpacked.glob("usr/src/linux-source-*.tar.xz")
    excluded = [f"--exclude=linux-source-*/{part}" for part in _UNUSED]
    _run(["tar", "--extract", "--xz", *excluded, "--file", str(archive)], cwd=work)
    shutil.rmtree(unpacked)
    (source,) = work.glob("linux-source-*/")
    return source


def _take_regulatory_database(work: Path, package: Path, source: Path) -> None:
    """Put regulatory.db where the kernel's build expects it. The kernel asks for it before it has a file system."""
    unpacked = work / "regulatory"
    _run(["dpkg-deb", "--extract", str(package), str(unpacked)], cwd=work)
    database = next(
        file for file in sorted(unpacked.rglob("regulatory.db*")) if file.name != "regulatory.db.p7s"
    )
    (source / "firmware").mkdir(exist_ok=True)
    shutil.copyfile(database, source / "firmware" / "regulatory.db")


def _run(argv: Sequence[str], *, cwd: Path, stdin: str | None = None) -> str:
    """Run a command to completion and return its output. Raises AirtollError with its last words if it fails."""
    with _started(argv, cwd, stdin=subprocess.PIPE) as process:
        output, _ = process.communicate(stdin)
    _check(argv, process.returncode, output.splitlines())
    return output


def _lines(argv: Sequence[str], *, cwd: Path) -> Iterator[str]:
    """Run a command and yield the lines of its output. Raises AirtollError with its last words if it fails."""
    seen: list[str] = []
    with _started(argv, cwd, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for line in process.stdout:
            seen.append(line)
            yield line
    _check(argv, process.returncode, seen)


@contextmanager
def _started(argv: Sequence[str], cwd: Path, *, stdin: int) -> Iterator[subprocess.Popen[str]]:
    """A running command. It and all its children are killed if the context is left early."""
    environment = {**os.environ, "LC_ALL": "C", "KBUILD_BUILD_TIMESTAMP": "0", "KBUILD_BUILD_USER": "airtoll"}
    environment |= {"KBUILD_BUILD_HOST": "airtoll", "MAKEFLAGS": ""}
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *argv],
        cwd=cwd,
        env=environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        yield process
        process.wait()
    except BaseException:
        if process.returncode is None:  # otherwise another group may have its number
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _check(argv: Sequence[str], status: int, output: Sequence[str]) -> None:
    if status == 0:
        return
    told = [
        line.strip()
        for line in output
        if re.search(r"error|fail|can't|cannot|unable|no space", line, re.IGNORECASE)
    ]
    words = (told or [line.strip() for line in output if line.strip()] or ["it printed nothing"])[
        0 if told else -1
    ]
    raise AirtollError(f"building the guest: {Path(argv[0]).name} failed: {words}")
