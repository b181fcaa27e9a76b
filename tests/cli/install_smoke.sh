#!/usr/bin/env bash
# Installs the build into a temporary place and uses it as a stranger would: the program, its
# manual, a program built against the library with pkg-config and with find_package.
#   install_smoke.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$(realpath "$1")
build_dir=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/moved

# installed elsewhere than configured, and moved once more: everything still finds its parts
"${CMAKE:-cmake}" --install "$build_dir" --prefix "$work/prefix" >/dev/null
mv "$work/prefix" "$prefix"
"$prefix/bin/inquest" info "$source_dir/tests/data/ok_two_ranks" | head -1 >"$work/said"
grep -q '2 of 2 ranks' "$work/said"
for file in share/man/man1/inquest.1 share/man/man1/inquest-analyze.1 \
    share/man/man3/inquest.3 share/man/man5/inquest-report.5 share/bash-completion/completions/inquest \
    share/zsh/site-functions/_inquest share/fish/vendor_completions.d/inquest.fish \
    share/doc/inquest/LICENSE include/inquest/ingest.h; do
    test -s "$prefix/$file" || { echo "not installed: $file"; exit 1; }
done

# the program in README.md
sed -n '/^```c$/,/^```$/{/^```/d;p;}' "$source_dir/README.md" >"$work/consumer.c"
# use LIBRARY_DIR PROGRAM: it must say the verdict of the one job
use() {
    LD_LIBRARY_PATH=$1 "$2" "$source_dir/sample-traces/slow_gpu_dp8" >"$work/said"
    grep -q '^slow_gpu_dp8: Rank 5.s GPU is' "$work/said" || { echo "$2 said:"; cat "$work/said"; exit 1; }
}

pc=$(find "$prefix" -name inquest.pc)
lib=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*}
# shellcheck disable=SC2046
"${CC:-cc}" "$work/consumer.c" -o "$work/with_pkg_config" \
    $(pkg-config --cflags --libs inquest)
use "$lib" "$work/with_pkg_config"
# shellcheck disable=SC2046
"${CC:-cc}" "$work/consumer.c" -o "$work/with_static" \
    $(pkg-config --cflags inquest) "$lib/libinquest.a" \
    $(pkg-config --static --libs-only-l inquest |
        sed 's/-linquest//') -fopenmp
use / "$work/with_static"

mkdir "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(inquest 0.1 REQUIRED)
add_executable(consumer ../consumer.c)
target_link_libraries(consumer PRIVATE inquest::inquest)
END
"${CMAKE:-cmake}" -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_C_COMPILER="${CC:-cc}" \
    -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
    "${CMAKE:-cmake}" --build "$work/cmake/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
use "$lib" "$work/cmake/build/consumer"
echo "installed, linked and run"
