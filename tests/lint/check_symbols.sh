#!/usr/bin/env bash
# Every global symbol starts with inq_ and is used outside its file; the shared library exports only what include/ declares.
#   check_symbols.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$1
build_dir=$2

bad=$(nm -g --defined-only "$build_dir/replay/libinquest.a" 2>/dev/null |
    awk 'NF == 3 && $3 !~ /^(inq_|\.gomp_critical_user_inq_|__odr_asan|__asan|__tsan|_ZN|__start|__stop|__prof|__llvm)/ {print $3}' | sort -u)
if [ -n "$bad" ]; then
    echo "global symbols without the inq_ prefix:"
    echo "$bad"
    exit 1
fi
# Mentioned in one source file only: it should be static, or nobody uses it. Tables that the build
# writes and the members of a family that is chosen from aside. A row of a list in a header,
# "#define LIST(X) ...", mentions it too, and so does an inline function there.
rows() {
    find analyzer replay -name '*.h' -exec awk '
        /^#define INQ_[A-Z_]+\(X\)/ { list = 1 }
        /^static inline/ { inlined = 1 }
        list || inlined { line = $0; while (match(line, /inq_[A-Za-z0-9_]+/)) {
            print FILENAME ":" substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH) } }
        !/\\$/ { list = 0 }
        /^}/ { inlined = 0 }' {} +
}
lonely=$(comm -12 \
    <(nm -g --defined-only "$build_dir/replay/libinquest.a" 2>/dev/null |
        awk 'NF == 3 && $3 ~ /^inq_/ {print $3}' | grep -vE '^inq_(html_(app|d3|page|style)|cuda_(kernels|ptx)|log_find_plain)$' |
        sort -u) \
    <(cd "$source_dir" && { grep -roE --include='*.c' '\binq_[A-Za-z0-9_]+' analyzer replay tests; rows; } |
        sort -u | cut -d: -f2 | sort | uniq -u))
if [ -n "$lonely" ]; then
    echo "mentioned in one source file only, so static or dead:"
    echo "$lonely"
    exit 1
fi
# what leaves the library: its own names, each with the version that it came with (inquest.map)
nm -D --defined-only "$build_dir/replay/libinquest.so" |
    awk '$2 != "A" && $2 != "a" {print $3}' | sort -u | while IFS= read -r symbol; do
    name=${symbol%%@*}
    if [ "$name" = "$symbol" ]; then
        case $name in __asan* | __odr_asan* | __tsan* | __sancov* | __ubsan*) continue ;; esac
        echo "exported without a version: $symbol"
        exit 1
    fi
    if ! grep -rqw "$name" "$source_dir/include"; then
        echo "exported, but not declared under include/: $symbol"
        exit 1
    fi
done
