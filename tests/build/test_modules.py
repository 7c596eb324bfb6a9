"""`tools/modules.py` finds modules of a crate that use one another in a cycle, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "modules.py"


def check(folder: Path, files: dict[str, str]) -> tuple[int, str]:
    """The tool's exit status and output for a crate with these source files."""
    (folder / "tools").mkdir()
    shutil.copy(TOOL, folder / "tools")
    for name, text in files.items():
        path = folder / "crates" / "toy" / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
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
