#!/usr/bin/env bash
# Tests the Python package with the interpreter that has most of what its tests use: pandas and
# nbclient are often only in the system's.   run.sh INQUEST SOURCE_DIR
set -euo pipefail
best=""
for python in /usr/bin/python3 python3; do
    path=$(command -v "$python") || continue
    best=${best:-$path}
    if "$path" -c 'import pandas, nbclient' 2>/dev/null; then
        best=$path
        break
    fi
done
if [ -z "$best" ]; then
    echo "skipped: no python3"
    exit 77
fi
exec "$best" "$(dirname "$0")/test_inquest.py" "$1" "$2"
