#!/usr/bin/env bash
# Opens HTML reports in headless Chromium.   run.sh INQUEST SOURCE_DIR BUILD_DIR [--bench] [TEST]...
# Needs chromium, node and npm; without them it is skipped (77). What npm installs, the reports and
# the screenshots lie in BUILD_DIR/browser.
set -euo pipefail
inquest=$(realpath "$1")
source_dir=$(realpath "$2")
work=$(realpath "$3")/browser
shift 3

skip() {
    echo "skipped: $1"
    exit 77
}

"$inquest" --version | grep -q '^html: *yes' || skip "built without D3, so there is no HTML report"
chromium=
for name in chromium chromium-browser google-chrome; do
    chromium=${chromium:-$(command -v $name || true)}
done
[ -n "$chromium" ] || skip "there is no chromium (package chromium)"
command -v node >/dev/null || skip "there is no node (package nodejs)"
command -v npm >/dev/null || skip "there is no npm (package npm)"

mkdir -p "$work"
cp "$source_dir"/tests/browser/{package.json,package-lock.json,.npmrc} "$work/"
if ! cmp -s "$work/package-lock.json" "$work/installed.json" || [ ! -d "$work/node_modules" ]; then
    (cd "$work" && npm ci --ignore-scripts --loglevel=error >"$work/npm.log" 2>&1) ||
        skip "npm cannot install playwright-core and axe-core: $(tail -1 "$work/npm.log")"
    cp "$work/package-lock.json" "$work/installed.json"
fi
cp "$source_dir"/tests/browser/*.mjs "$work/"
cd "$work"
INQUEST=$inquest SOURCE_DIR=$source_dir CHROMIUM=$chromium exec node report.mjs "$@"
