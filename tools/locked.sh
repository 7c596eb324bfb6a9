#!/bin/sh
# Runs a command of make under the lock of this checkout, so that two makes do not build into the same folders at once.
# The second one waits. The lock ends with the command, however it ends.
set -eu
cd "$(dirname "$0")/.."

lock=.make.lock
export AIRTOLL_LOCKED=1
if ! flock --nonblock "$lock" true; then
    echo "waiting for another make in this checkout (process $(cat "$lock")); Ctrl-C stops waiting" >&2
fi
# --close: a process that the command leaves behind does not hold the lock.
# shellcheck disable=SC2016 # the inner shell expands
exec flock --close "$lock" sh -c 'echo $$ >"$0" && exec "$@"' "$lock" "$@"
