#!/usr/bin/env bash
# The words that the field's terms have replaced (CONTRIBUTING.md), against the budgets beside this
# file; skipped without python3.   check_words.sh SOURCE_DIR
set -euo pipefail
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not installed"
    exit 77
fi
exec python3 -B "$(dirname "$0")/words.py" "$1"
