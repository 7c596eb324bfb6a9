#!/bin/sh
# Makes the certificates of 802.1X in lab linux: python/airtoll/labs/certificates. The files are part of the repository,
# so that the same seed gives the same frames; this script records how they were made. Their keys are public on purpose.
# A guest boots on 2026-01-01 of its own clock, so the certificates are valid long before and after.
set -eu

folder="$(dirname "$0")/../python/airtoll/labs/certificates"
sh "$folder/make.sh" "$folder" 20250101000000Z 21250101000000Z
chmod 644 "$folder"/*.pem
