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
"$python" tools/requirements.py "$group" |
    "$python" tools/explained.py "$python" -m pip install --requirement /dev/stdin
