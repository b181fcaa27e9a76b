#!/usr/bin/env bash
# What the program does on a terminal, and does not do in a log.   terminal.sh INQUEST SOURCE_DIR
set -euo pipefail
inquest=$(realpath "$1")
data=$(realpath "$2")/tests/data/ok_two_ranks
if ! command -v script >/dev/null; then
    echo "skipped: no script(1) to make a terminal with"
    exit 77
fi
unset NO_COLOR PAGER INQ_PAGER LESS
export LC_ALL=C TERM=xterm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# on_terminal ARGUMENT...: runs inquest on a terminal of 100 x 24, its output to $work/out
on_terminal() {
    script -qec "stty rows 24 cols 100; '$inquest' $*" /dev/null </dev/null | tr -d '\r' >"$work/out"
}
expect() { # WHAT yes|no PATTERN
    if grep -q -- "$3" "$work/out"; then found=yes; else found=no; fi
    if [ "$found" != "$2" ]; then
        echo "$1: expected $2, got $found"
        head -5 "$work/out" | cat -v
        bad=1
    fi
}
escape=$'\033'

on_terminal analyze --no-pager "$data"
expect "colors on a terminal" yes "${escape}\[1"
NO_COLOR=1 on_terminal analyze --no-pager "$data"
expect "colors with NO_COLOR" no "${escape}\["
NO_COLOR= on_terminal analyze --no-pager "$data"
expect "colors with an empty NO_COLOR" yes "${escape}\[1"
TERM=dumb on_terminal analyze --no-pager "$data"
expect "colors with TERM=dumb" no "${escape}\["
NO_COLOR=1 on_terminal analyze --no-pager --color always "$data"
expect "--color always over NO_COLOR" yes "${escape}\[1"
on_terminal analyze --no-pager --color never "$data"
expect "--color never" no "${escape}\["

INQ_PAGER="sed s/^/paged:/" on_terminal analyze -v "$data"
expect "long text through the pager" yes "^paged:"
INQ_PAGER="sed s/^/paged:/" on_terminal info "$data"
expect "short text through the pager" no "^paged:"
INQ_PAGER="sed s/^/paged:/" on_terminal analyze -f json "$data"
expect "JSON through the pager" no "^paged:"
INQ_PAGER="sed s/^/paged:/" on_terminal analyze --no-pager "$data"
expect "--no-pager" no "^paged:"
PAGER="sed s/^/paged:/" on_terminal analyze -v "$data"
expect "PAGER" yes "^paged:"
INQ_PAGER=no_such_pager on_terminal analyze -v "$data"
expect "a pager that is not there" yes "Where each rank"

"$inquest" analyze "$data" >"$work/out" 2>&1
expect "escapes in a log" no "$escape"

# a pipe to which nobody has written yet is waited for, and that is said
mkfifo "$work/pipe"
: >"$work/out"
"$inquest" info --progress always "$work/pipe" >"$work/report" 2>"$work/out" &
tries=100
while [ $tries -gt 0 ] && ! grep -q "waiting for" "$work/out"; do
    sleep 0.1
    tries=$((tries - 1))
done
expect "that a pipe is waited for" yes "waiting for $work/pipe: nothing was written"
cat "$data/rank0.json" >"$work/pipe" # lets it go on, also when it waits without a word
wait $!
cp "$work/report" "$work/out"
expect "what came through the pipe" yes "1 of 2 ranks"
exit $bad
