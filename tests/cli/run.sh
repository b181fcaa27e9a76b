#!/usr/bin/env bash
# Golden tests of the command line.
#   tests/cli/run.sh [--update] INQUEST [CASE]...
# cases/NAME.sh runs in a copy of tests/data with $INQ naming the program and $SAMPLES the sample
# runs; what it prints and its exit status must be those of NAME.stdout, NAME.stderr and NAME.exit. --update rewrites them.
# A case that reads real data is skipped where INQ_SHARED_DATA names no folder of it. Without CASEs all
# are run but those whose names match INQ_GOLDEN_EXCEPT.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

update=no
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
if [ $# -lt 1 ]; then
    echo "usage: tests/cli/run.sh [--update] INQUEST [CASE]..." >&2
    exit 2
fi
INQ=$(realpath "$1")
shift
SAMPLES=$(realpath "$here/../../sample-traces")
export INQ SAMPLES
export LC_ALL=C TZ=UTC
unset NO_COLOR TERM PAGER INQ_PAGER COLUMNS

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for script in "$here"/cases/*.sh; do
        name=$(basename "$script" .sh)
        # shellcheck disable=SC2053
        [[ $name == ${INQ_GOLDEN_EXCEPT:-} ]] || names+=("$name")
    done
fi

# without D3 the program does not offer HTML, and cases that list the formats are not as they were
html=yes
"$INQ" --version | grep -q '^html: *yes' || html=no

# one NAME: runs a case; what it printed is in $work
one() {
    rm -rf "$work/data"
    cp -R "$here/../data" "$work/data"
    chmod -R u+w "$work/data"
    local status=0
    (cd "$work/data" && bash "$here/cases/$1.sh") >"$work/stdout" 2>"$work/stderr" </dev/null ||
        status=$?
    echo "$status" >"$work/exit"
}

failed=0
for name in "${names[@]}"; do
    if [ $html = no ] && grep -qw html "$here/cases/$name".{sh,stdout,stderr}; then
        echo "$name: skipped, no HTML in this build"
        continue
    fi
    if [ ! -d "${INQ_SHARED_DATA:-}" ] && grep -q INQ_SHARED_DATA "$here/cases/$name.sh"; then
        echo "$name: skipped, no real data here (INQ_SHARED_DATA)"
        continue
    fi
    one "$name"
    for part in stdout stderr exit; do
        golden=$here/cases/$name.$part
        if [ $update = yes ]; then
            cp "$work/$part" "$golden"
        elif ! diff -u "$golden" "$work/$part" >"$work/diff"; then
            echo "$name: $part differs"
            head -40 "$work/diff"
            failed=$((failed + 1))
        fi
    done
done
if [ $failed -gt 0 ]; then
    echo "$failed differences; when they are meant: tests/cli/run.sh --update INQUEST"
    exit 1
fi
echo "${#names[@]} cases"
