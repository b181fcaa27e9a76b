# what is said first of every fifth case of the failure corpus
python3 "$SAMPLES/../tests/bench/failure_corpus/score.py" "$INQ" --write corpus >/dev/null
printf '%s\n' corpus/* | LC_ALL=C sort | awk 'NR % 5 == 1' | while read -r case; do
    echo "==== ${case#*/}"
    "$INQ" analyze "$case" -q | sed -n '/^\(Inputs\|Files\|Timeline\)/q;1,14p'
done
