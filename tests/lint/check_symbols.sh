#!/usr/bin/env bash
# Every global symbol starts with inq_; the shared library exports only what include/ declares.
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
exported=$(nm -D --defined-only "$build_dir/replay/libinquest.so" | awk '$2 == "T" {print $3}')
for symbol in $exported; do
    case $symbol in
    inq_*)
        if ! grep -rqw "$symbol" "$source_dir/include"; then
            echo "exported, but not declared under include/: $symbol"
            exit 1
        fi
        ;;
    esac
done
