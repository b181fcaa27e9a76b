#!/usr/bin/env bash
# The failure corpus (tests/bench/failure_corpus): the verdicts on failed and healthy runs stay at
# least as good as they were; raise the rates with the detector.   failures.sh INQUEST SOURCE_DIR
set -euo pipefail
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not installed"
    exit 77
fi
exec python3 "$2/tests/bench/failure_corpus/score.py" "$(realpath "$1")" --no-traces \
    --least cls=0.91,roots=0.96,first=0.88,claims=0.93,dead=0.93,alive=0.97,exit=0.93
