#!/usr/bin/env bash
# What `analyze` prints by itself fits on the first screens: at most 60 lines of 100 columns for every
# sample, none of which is of more than 8 ranks; -v has more.   first_screen.sh INQUEST SOURCE_DIR
set -euo pipefail
inquest=$(realpath "$1")
samples=$(realpath "$2")/sample-traces
export LC_ALL=C.UTF-8
most=60
bad=0
for sample in "$samples"/*/; do
    name=$(basename "$sample")
    text=$("$inquest" analyze --color never "$sample")
    lines=$(wc -l <<<"$text")
    verbose=$("$inquest" analyze --color never -v "$sample" | wc -l)
    if [ "$lines" -gt $most ]; then
        echo "$name: $lines lines, more than $most"
        bad=1
    fi
    if [ "$verbose" -le "$lines" ]; then
        echo "$name: $verbose lines with -v, $lines without"
        bad=1
    fi
    wide=$(wc -L <<<"$text")
    if [ "$wide" -gt 100 ]; then
        echo "$name: a line of $wide columns"
        bad=1
    fi
    for part in "Next:\|No straggler" "^Timeline" "^Ranks"; do
        if ! grep -q "$part" <<<"$text"; then
            echo "$name: no line with $part"
            bad=1
        fi
    done
done
exit $bad
