#!/bin/sh
# Copies a built program into the package: `place.sh BUILT PLACE`. A process that runs the old file keeps it, and an equal
# file keeps its time, so nothing that depends on it is built again.
set -eu
mkdir -p "$(dirname "$2")"
cmp -s "$1" "$2" || { cp "$1" "$2.new" && mv "$2.new" "$2"; }
