"""Fail if modules of a Rust crate or of a Python package use one another in a cycle.

In every folder of `crates/*/src` and `python/*`, the uses between siblings (modules or folders) must not form a cycle.
Not counted: tests, and uses between a parent and its children.

- Rust: every path that starts with `crate`, `super` or `self` counts. A path to a re-exported name counts as use of the
  module that declares the name. Method calls do not count, because they name no module.
- Python: every import counts, also in a function or only for type checkers.
"""

import ast
import re
import sys
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|r#*"(?:.*?)"#*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\\\'])\'', re.DOTALL)
TEST = re.compile(r"#\[cfg\((?:test|any\(test[^]]*)\)\]\s*(?:#\[[^]]*\]\s*)*")
DECLARED = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)
USED = re.compile(r"^[ \t]*((?:pub(?:\([^)]*\))?\s+)?)use\s+([^;]+);", re.MULTILINE)
PATH = re.compile(r"\b(?:crate|super|self)(?:\s*::\s*\w+)+")

# Longest chain of re-exports that is followed.
MAX_DEPTH = 8

Name = tuple[str, ...]


def main() -> int:
    """Check all crates and packages and return the exit status."""
    top = Path(__file__).parents[1]
    crates = sorted(top.glob("crates/*/src/lib.rs"))
    packages = sorted(top.glob("python/*/__init__.py"))
    found = [(root.parents[1].name, "::", cycles(rust_uses(root))) for root in crates]
    found += [(root.parent.name, ".", cycles(python_uses(root.parent))) for root in packages]
    for name, separator, chains in found:
        for chain in chains:
            words = " -> ".join(separator.join(module) for module in chain)
            print(f"modules in a cycle: {name}: {words}", file=sys.stderr)
    return 1 if any(chains for *_, chains in found) else 0


def cycles(uses: Iterable[tuple[Name, Name]]) -> list[list[Name]]:
    """One cycle per folder whose modules form a cycle. A use is a module and the module that it uses."""
    folders: dict[Name, dict[str, set[str]]] = {}
    for name, target in uses:
        common = 0
        while common < min(len(name), len(target)) and name[common] == target[common]:
            common += 1
        if common < len(name) and common < len(target):
            folders.setdefault(name[:common], {}).setdefault(name[common], set()).add(target[common])
    found = []
    for folder, graph in folders.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            # CycleError lists each module before a module that uses it.
            found.append([(*folder, module) for module in reversed(error.args[1])])
    return found


def rust_uses(root: Path) -> list[tuple[Name, Name]]:
    """The uses between modules of a crate."""
    sources = modules(root)
    exported = {name: exports(text) for name, text in sources.items()}
    return [(name, resolve(name, path, exported)) for name, text in sources.items() for path in paths(text)]


def python_uses(package: Path) -> list[tuple[Name, Name]]:
    """The uses between modules of a package. Modules are named without the package."""
    found = []
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).with_suffix("").parts
        name = name[:-1] if name[-1] == "__init__" else name
        for node in ast.walk(ast.parse(path.read_text())):
            imported = []
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                imported = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            found += [
                (name, tuple(parts[1:]))
                for parts in (module.split(".") for module in imported)
                if parts[0] == package.name
            ]
    return found


def modules(root: Path) -> dict[Name, str]:
    """The source of each module of a crate by module name, without comments, strings and tests."""
    found: dict[Name, str] = {}

    def take(name: Name, path: Path, folder: Path) -> None:
        text = without_tests(NOISE.sub('""', path.read_text()))
        found[name] = text
        for child in DECLARED.findall(text):
            for file, inner in (
                (folder / f"{child}.rs", folder / child),
                (folder / child / "mod.rs", folder / child),
            ):
                if file.exists():
                    take((*name, child), file, inner)

    take((), root, root.parent)
    return found


def without_tests(text: str) -> str:
    """The source text without items that are compiled only for tests."""
    while match := TEST.search(text):
        end, depth = match.end(), 0
        while end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
            if depth == 0 and text[end - 1] in ";}":
                break
        text = text[: match.start()] + text[end:]
    return text


def leaves(tree: str) -> list[tuple[str, str]]:
    """The paths of a use tree, each with the name that it brings into scope."""
    tree = tree.strip()
    if "{" in tree:
        before, rest = tree.split("{", 1)
        inside, depth, parts = rest.rsplit("}", 1)[0], 0, [""]
        for letter in inside:
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += letter
        return [(before + path, name) for part in parts if part.strip() for path, name in leaves(part)]
    path, _, alias = re.sub(r"\s+", " ", tree).partition(" as ")
    path = path.removesuffix("::self")
    return [(path, alias or path.split("::")[-1])]


def exports(text: str) -> dict[str, str]:
    """The path of each name that a module imports or re-exports."""
    return {name: path.replace(" ", "") for _, tree in USED.findall(text) for path, name in leaves(tree)}


def paths(text: str) -> set[str]:
    """The paths that a module uses."""
    used = {path for _, tree in USED.findall(text) for path, _ in leaves(tree)}
    found = used | set(PATH.findall(USED.sub("", text)))
    return {re.sub(r"\s", "", path) for path in found if path.strip().startswith(("crate", "super", "self"))}


def resolve(name: Name, path: str, exported: dict[Name, dict[str, str]], depth: int = 0) -> Name:
    """The module of this crate that declares the target of a path in module `name`."""
    at = name
    for segment in path.split("::"):
        if segment == "crate":
            at = ()
        elif segment == "super":
            at = at[:-1]
        elif segment == "self":
            pass
        elif (*at, segment) in exported:
            at = (*at, segment)
        else:
            further = exported.get(at, {}).get(segment, "")
            first = further.split("::")[0]
            is_own = first in ("crate", "super", "self") or (*at, first) in exported
            return resolve(at, further, exported, depth + 1) if is_own and depth < MAX_DEPTH else at
    return at


if __name__ == "__main__":
    sys.exit(main())
