#!/usr/bin/env bash
# Help, manual pages, completion and JSON keys say the same.   documents.sh INQUEST SOURCE_DIR
set -euo pipefail
inquest=$(realpath "$1")
man=$(realpath "$2")/analyzer/man
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# same WHAT FILE FILE: complains where two sorted lists differ
same() {
    if ! diff "$2" "$3" >"$work/diff"; then
        echo "$1:"
        cat "$work/diff"
        bad=1
    fi
}

"$inquest" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort >"$work/commands"
sed -n 's/^\.It Cm \([a-z]*\).*/\1/p' "$man/inquest.1" | sort >"$work/documented"
same "commands in --help (<) and inquest(1) (>)" "$work/commands" "$work/documented"

"$inquest" completion bash >"$work/bash"
"$inquest" completion fish >"$work/fish"
"$inquest" completion zsh >"$work/zsh"
bash -n "$work/bash"

while read -r command; do
    case $command in
    completion | help) continue ;; # in inquest(1)
    esac
    page=$man/inquest-$command.1
    if [ ! -f "$page" ]; then
        echo "no manual page: $page"
        bad=1
        continue
    fi
    "$inquest" help "$command" | sed -n '/^Options:/,$p' |
        grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--?[a-zA-Z][a-z-]*' | sort \
        >"$work/help"
    sed -n 's/^\.It Fl /Fl /p' "$page" | grep -oE 'Fl -?[a-zA-Z][a-z-]*' | sed 's/^Fl /-/' | sort \
        >"$work/page"
    same "options of $command in help (<) and manual page (>)" "$work/help" "$work/page"
    grep -E -- '^--' "$work/help" >"$work/long"
    sed -n "/^    $command)\$/,/;;\$/p" "$work/bash" >"$work/section"
    sed -n "/^    $command)\$/,/^    [a-z]*)\$/p" "$work/bash" |
        sed -n "s/^        \*) words='\(.*\)'; files.*/\1/p" | head -1 | tr ' ' '\n' |
        grep -- '^--' | sort >"$work/completed"
    same "options of $command in help (<) and bash completion (>)" "$work/long" "$work/completed"
    grep "from $command'" "$work/fish" | grep -oE -- ' -l [a-z-]+' | sed 's/ -l /--/' | sort \
        >"$work/completed"
    same "options of $command in help (<) and fish completion (>)" "$work/long" "$work/completed"
    sed -n "/^    $command)\$/,/;;\$/p" "$work/zsh" | grep -oE "^ +'--[a-z-]+" |
        grep -oE -- '--[a-z-]+' | sort >"$work/completed"
    same "options of $command in help (<) and zsh completion (>)" "$work/long" "$work/completed"
done <"$work/commands"

# the first screen: at most 60 lines for 8 ranks, no table there that -v does not have
for run in "$(realpath "$2")"/sample-traces/*/; do
    "$inquest" analyze "$run" -o - >"$work/brief" 2>/dev/null </dev/null || continue
    "$inquest" analyze -v "$run" -o - >"$work/verbose" 2>/dev/null </dev/null
    lines=$(wc -l <"$work/brief")
    if [ "$lines" -gt 60 ] || [ "$lines" -ge "$(wc -l <"$work/verbose")" ]; then
        echo "$run: $lines lines on the first screen"
        bad=1
    fi
done

# complete WORD...: what bash offers for the last word
complete_words() {
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _inquest;
             printf "%s\n" "${COMPREPLY[@]}"' _ "$work/bash" "$@"
}
complete_words inquest ana | grep -x analyze >/dev/null || { echo "bash does not complete ana"; bad=1; }
complete_words inquest analyze --form | grep -x -- --format >/dev/null || { echo "nor --form"; bad=1; }
complete_words inquest fix run --fix repl | grep -x -- replace-rank: >/dev/null || { echo "nor --fix"; bad=1; }
complete_words inquest analyze -f j | grep -x json >/dev/null || { echo "nor -f j"; bad=1; }

if command -v mandoc >/dev/null; then
    for page in "$man"/*.[1357]; do
        mandoc -T lint -W warning "$page" || bad=1
    done
fi
exit $bad
