#!/bin/sh
# Prints the commit of this checkout, with ".dirty" appended if tracked sources of the package differ from the commit.
# Prints nothing outside a checkout. With --watch, prints the files on which this output depends, one absolute path per
# line.
set -eu
cd "$(dirname "$0")/.."

# A source archive may lie inside another project's checkout.
[ -e .git ] || exit 0
commit=$(git rev-parse --verify --short=12 HEAD) || exit 0

# The package's sources.
set -- "${1:-}" crates python Cargo.toml Cargo.lock pyproject.toml
option=$1
shift

if [ "$option" = --watch ]; then
    {
        for name in HEAD logs/HEAD index; do
            git rev-parse --git-path "$name"
        done
        git ls-files -- "$@"
    } | while read -r file; do
        case $file in
        /*) ;;
        *) file=$PWD/$file ;;
        esac
        # Cargo treats a missing file as changed.
        if [ -f "$file" ]; then echo "$file"; fi
    done
    exit 0
fi

# Without the lock, git does not rewrite the index, whose modification time Cargo watches.
changed=$(git --no-optional-locks status --porcelain --untracked-files=no -- "$@")
echo "$commit${changed:+.dirty}"
