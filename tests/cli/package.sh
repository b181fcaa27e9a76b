#!/usr/bin/env bash
# Makes the Debian package, installs it into an empty root, and runs what it installed.
#   package.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$(realpath "$1")
build_dir=$(realpath "$2")
if ! command -v dpkg >/dev/null || ! command -v dpkg-shlibdeps >/dev/null; then
    echo "skipped: no dpkg"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# where dpkg-shlibdeps is missing there is no package, rather than one without dependencies
if (cd "$build_dir" && PATH='' "${CPACK:-cpack}" -G DEB -B "$work/none" \
    -D "CMAKE_IGNORE_PATH=/usr/bin;/bin;/usr/local/bin") >"$work/log" 2>&1 ||
    ! grep -q 'apt-get install dpkg-dev file' "$work/log"; then
    echo "a package is made without dpkg-shlibdeps"
    cat "$work/log"
    exit 1
fi
(cd "$build_dir" && "${CPACK:-cpack}" -G DEB -B "$work/packages" \
    >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
deb=$(echo "$work"/packages/inquest_*.deb)
dpkg-deb --field "$deb" Depends >"$work/depends"
for library in libc6 libcjson1 libgomp1 zlib1g; do
    grep -q "$library" "$work/depends" || { echo "not a dependency: $library"; cat "$work/depends"; exit 1; }
done
# inquest-mpi has a package of its own, if it was built
if [ -e "$build_dir/replay/inquest-mpi" ]; then
    dpkg-deb --contents "$work"/packages/inquest-mpi_*.deb >"$work/mpi"
else
    echo ' ./usr/bin/inquest-mpi' >"$work/mpi"
fi
if grep -q 'mpi' "$work/depends" || ! grep -q '/usr/bin/inquest-mpi$' "$work/mpi"; then
    echo "MPI belongs into inquest-mpi's package"
    exit 1
fi
root=$work/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
touch "$root/var/lib/dpkg/status"
dpkg --root="$root" --force-depends --force-not-root --force-script-chrootless --log=/dev/null \
    -i "$deb" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
dpkg --root="$root" -s inquest | grep -q '^Status: install ok installed'
"$root/usr/bin/inquest" "$source_dir/sample-traces/healthy_dp4" | grep -q '^No straggler' ||
    { echo "the installed program does not say what it should"; exit 1; }
for file in share/man/man5/inquest-sqlite.5 share/doc/inquest/LICENSE include/inquest/report.h; do
    test -s "$root/usr/$file" || { echo "not in the package: $file"; exit 1; }
done
schemas=$(find "$root/usr/share/inquest/schema" -name '*.json' -size +1k | wc -l)
[ "$schemas" -eq "$("$root/usr/bin/inquest" schema | wc -l)" ] ||
    { echo "$schemas schemas in the package, not all of them"; exit 1; }
echo "$(basename "$deb"): made, installed and run"
