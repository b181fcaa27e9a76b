#!/usr/bin/env bash
# The rules of the house (ARCHITECTURE.md), against the budgets beside this file; skipped without
# python3.   check_house.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not installed"
    exit 77
fi
exec python3 -B "$(dirname "$0")/house.py" "$1" "$2"
