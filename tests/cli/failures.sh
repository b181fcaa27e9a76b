#!/usr/bin/env bash
# The failure corpus (tests/bench/failure_corpus): the verdicts on failed and healthy runs stay at
# least as good as they were, also of traces with code and notes beside them; raise the rates with
# the detector.   failures.sh INQUEST SOURCE_DIR
set -euo pipefail
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not installed"
    exit 77
fi
# every dead run of the shared data fails CI, whatever the severity that CI asks for
shared=${INQ_SHARED_DATA:-}
for log in "$shared"/logs/*.txt "$shared"/flight/*/; do
    [ -e "$log" ] || continue
    for severity in low medium high; do
        rc=0
        "$1" analyze "$log" -q --fail-on $severity >/dev/null 2>&1 || rc=$?
        if [ $rc -ne 3 ]; then
            echo "$log: --fail-on $severity exits $rc, not 3"
            exit 1
        fi
    done
done
exec python3 "$2/tests/bench/failure_corpus/score.py" "$(realpath "$1")" \
    --least cls=0.99,roots=0.99,first=0.98,claims=0.99,dead=1,alive=1,exit=1,clutter=1
