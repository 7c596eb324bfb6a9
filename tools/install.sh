#!/bin/sh
# Installs a group of Python packages (tools/requirements.py) into an environment. Prints their names if some are missing.
set -eu
cd "$(dirname "$0")/.."

python=${1:?environment}/bin/python
# Two runs of pip would disturb each other, and make may install two groups at once.
exec 9>"$1/.pip.lock"
flock 9
group=${2:?group}
"$python" tools/requirements.py "$group" --missing
# Linters and tests import a small part of their packages, and Python compiles what it imports. A guest cannot store byte code.
compile=--no-compile
[ "$group" != build ] || compile=--compile
"$python" tools/requirements.py "$group" |
    "$python" tools/explained.py "$python" -m pip install "$compile" --requirement /dev/stdin
