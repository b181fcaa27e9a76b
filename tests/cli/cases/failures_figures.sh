# whom every fourth case of the failure corpus names, by which lines
python3 "$SAMPLES/../tests/bench/failure_corpus/score.py" "$INQ" --write corpus >/dev/null
cd corpus
printf '%s\n' * | LC_ALL=C sort | awk 'NR % 4 == 2' | while read -r case; do
    "$INQ" analyze "$case" -q -f json
done | python3 "$SAMPLES/../tests/cli/figures.py" schema tool inputs options verdict findings headline \
    text what alternatives reason advice time_ns steps
