#!/usr/bin/env bash
# Every source has its license line and fits a reader's head; the top level holds what it should.
#   check_files.sh SOURCE_DIR
set -euo pipefail
cd "$1"

bad=0
while IFS= read -r file; do
    if ! head -2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0'; then
        echo "no license line: $file"
        bad=1
    fi
    lines=$(wc -l <"$file")
    if [ "$lines" -gt 1000 ]; then
        echo "$file has $lines lines: split it (limit 1000)"
        bad=1
    fi
done < <(find analyzer replay include tests -name '*.[ch]' -o -name '*.cu' | sort)
for entry in *; do
    case $entry in
    ARCHITECTURE.md | CMakeLists.txt | CMakePresets.json | CONTRIBUTING.md | LICENSE | README.md) ;;
    analyzer | replay | include | tests | sample-traces | build* | out) ;;
    *)
        echo "unexpected at the top level: $entry"
        bad=1
        ;;
    esac
done
exit $bad
