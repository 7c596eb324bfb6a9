#!/bin/sh
# Prints the commit of this checkout, with ".dirty" if tracked sources of the package differ from it; nothing where
# there is no checkout. With --watch it prints the files that decide it instead, one absolute path per line.
set -eu
cd "$(dirname "$0")/.."

# A source archive may lie inside another project's checkout.
[ -e .git ] || exit 0
commit=$(git rev-parse --verify --short=12 HEAD) || exit 0

# Files that the package is made of.
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
        # Cargo takes a missing file for a changed one.
        if [ -f "$file" ]; then echo "$file"; fi
    done
    exit 0
fi

# Without the lock git leaves the index alone, whose time of change Cargo watches.
changed=$(git --no-optional-locks status --porcelain --untracked-files=no -- "$@")
echo "$commit${changed:+.dirty}"
