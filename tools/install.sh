#!/bin/sh
# Installs a group of Python packages (tools/requirements.py) into an environment. Prints their names if some are missing.
set -eu
cd "$(dirname "$0")/.."

python=${1:?environment}/bin/python
group=${2:?group}
"$python" tools/requirements.py "$group" --missing
"$python" tools/requirements.py "$group" |
    "$python" tools/explained.py "$python" -m pip install --requirement /dev/stdin
