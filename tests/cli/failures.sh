#!/usr/bin/env bash
# The failure corpus (tests/bench/failure_corpus): the verdicts on failed and healthy runs stay at
# least as good as they were; raise the rates with the detector.   failures.sh INQUEST SOURCE_DIR
set -euo pipefail
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not installed"
    exit 77
fi
exec python3 "$2/tests/bench/failure_corpus/score.py" "$(realpath "$1")" --no-traces \
    --least cls=0.99,roots=0.99,first=0.98,claims=0.99,dead=1,alive=1,exit=1
