#!/usr/bin/env bash
# However little memory there is, there is a report or a clear error: never a kill, never a failure
# without a word.   memory.sh INQUEST SOURCE_DIR
set -euo pipefail
inquest=$(realpath "$1")
cd "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bad=0
complain() {
    echo "$1"
    bad=1
}
"$inquest" synth dp=8,steps=40,seed=7,fault=slow_gpu:rank=5:factor=1.3 -o "$work/run" >/dev/null
if ! (ulimit -v 400000 && "$inquest" --version >/dev/null 2>&1); then
    echo "skipped: the program does not start with 400 MB (a sanitizer?)"
    exit 77
fi

reports=0
partial=0
errors=0
for kib in 17000 20000 24000 32000 40000 48000 64000 \
    80000 96000 128000 200000 400000; do
    for jobs in 1 8; do
        for command in "analyze" "analyze -f json" "fix"; do
            status=0
            # shellcheck disable=SC2086
            (ulimit -v "$kib"; exec "$inquest" $command -j "$jobs" "$work/run") \
                >"$work/out" 2>"$work/err" || status=$?
            case "$status" in
            0)
                reports=$((reports + 1))
                [ -s "$work/out" ] || complain "$kib KiB, $command -j $jobs: no report"
                if grep -qE 'B are needed, [0-9.]+ [kMG]?B may be used' "$work/out"; then
                    partial=$((partial + 1))
                fi
                ;;
            1)
                errors=$((errors + 1))
                grep -qiE 'memory|"nomem"' "$work/err" ||
                    complain "$kib KiB, $command -j $jobs: $(head -c 300 "$work/err")"
                ;;
            127) ;; # not even the program itself finds room
            *) complain "$kib KiB, $command -j $jobs: exit $status $(head -c 300 "$work/err")" ;;
            esac
        done
    done
done
echo "$reports reports, $partial of them in part, $errors errors"
[ "$reports" -gt 40 ] || complain "too few reports"
[ "$partial" -gt 0 ] || complain "no report was cut short: the limits test nothing"
exit $bad
