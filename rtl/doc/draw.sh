#!/bin/sh
# Redraws all figures of this folder: block diagrams (Debian's graphviz) and waveforms (waveform.py).
set -eu
cd "$(dirname "$0")/figures"
for diagram in *.dot; do
    dot -Tsvg "$diagram" -o "${diagram%.dot}.svg"
done
"${PYTHON:-python3}" ../waveform.py
