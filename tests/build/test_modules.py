"""`tools/modules.py` finds modules of a crate or a Python package that use one another in a cycle, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "modules.py"


def check(folder: Path, files: dict[str, str], sources: str = "crates/toy/src") -> tuple[int, str]:
    """The tool's exit status and output for a crate or package with these source files."""
    (folder / "tools").mkdir()
    shutil.copy(TOOL, folder / "tools")
    for name, text in files.items():
        path = folder / sources / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return run(folder)


def run(folder: Path) -> tuple[int, str]:
    """The tool's exit status and output."""
    command = [sys.executable, str(folder / "tools" / "modules.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


ACYCLIC = {
    "lib.rs": "mod a;\nmod b;\npub use b::Thing;\n",
    "a.rs": 'use crate::Thing; // crate::a\n#[cfg(test)]\nmod tests { use crate::a; }\nfn f() { "crate::a"; }\n',
    "b/mod.rs": "mod inner;\npub struct Thing;\n#[cfg(test)]\nmod tests { use crate::a::f; }\n",
    "b/inner.rs": "use super::Thing;\n",
}


def test_a_crate_without_module_cycles_passes(tmp_path: Path) -> None:
    assert check(tmp_path, ACYCLIC) == (0, "")


@pytest.mark.parametrize(
    "use",
    [
        "use crate::a;",
        "fn f() { crate::a::f(); }",
        "use crate::{Thing, a::{f as g}};",
        "use super::super::a::f;",
    ],
)
def test_a_cycle_is_named(tmp_path: Path, use: str) -> None:
    status, said = check(tmp_path, {**ACYCLIC, "b/inner.rs": use})
    assert status == 1
    assert said in (
        "modules in a cycle: toy: a -> b -> a\n",
        "modules in a cycle: toy: b -> a -> b\n",
    )


def test_a_cycle_within_a_folder_is_named(tmp_path: Path) -> None:
    inner = {"b/mod.rs": "mod c;\nmod d;\npub struct Thing;\n", "b/c.rs": "use super::d::D;\n"}
    status, said = check(tmp_path, {**ACYCLIC, **inner, "b/d.rs": "use super::c;\n"})
    assert status == 1
    assert "b::c -> b::d -> b::c" in said or "b::d -> b::c -> b::d" in said


@pytest.mark.parametrize(
    "use",
    [
        "from toy import a",
        "import toy.a",
        "from toy.a import f",
        "def f():\n    from toy.a import f\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toy.a import f\n",
    ],
)
def test_a_cycle_of_python_modules_is_named(tmp_path: Path, use: str) -> None:
    files = {
        "__init__.py": "import toy.a\n",
        "a.py": "from toy.b.inner import g\n",
        "b/__init__.py": "from toy.b.inner import g\n",
    }
    assert check(tmp_path, {**files, "b/inner.py": "import toy\n"}, "python/toy") == (0, "")
    (tmp_path / "python/toy/b/inner.py").write_text(use)
    status, said = run(tmp_path)
    assert status == 1
    assert said in (
        "modules in a cycle: toy: a -> b -> a\n",
        "modules in a cycle: toy: b -> a -> b\n",
    )
