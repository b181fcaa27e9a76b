# whom each case of the failure corpus names, also read without times or from the ends of its logs
python3 "$SAMPLES/../tests/bench/failure_corpus/score.py" "$INQ" --write corpus >/dev/null
cd corpus
python3 "$SAMPLES/../tests/cli/sweep.py" "$INQ" logs *
