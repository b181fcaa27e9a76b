# tests/cli/ci/action.yml, its commands as they stand there: a schedule as it was, then one that needs more memory.
action=$SAMPLES/../tests/cli/ci/action.yml
mkdir bin && ln -s "$INQ" bin/inquest && PATH=$PWD/bin:$PATH
export INQUEST_PATH=one.csv INQUEST_BASELINE=one.json GITHUB_STEP_SUMMARY=summary.md
"$INQ" schedule make --make 1f1b -p 2 -m 4 -o one.csv
"$INQ" check one.csv --baseline one.json --update >/dev/null
steps() {
    awk '/^ *run: / { sub(/^ *run: /, ""); print }' "$action" | while IFS= read -r line; do
        echo "\$ $line"
        (eval "$line")
        echo "exit $?"
    done
}
steps
"$INQ" schedule make --make gpipe -p 2 -m 4 -o one.csv
steps
grep -c . summary.md
