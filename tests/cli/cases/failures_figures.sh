# whom every fourth case of the failure corpus names, by which lines; which ones, by their names'
# sums, so that a new case moves no other
python3 "$SAMPLES/../tests/bench/failure_corpus/score.py" "$INQ" --write corpus >/dev/null
cd corpus
python3 -c 'import os, zlib
for case in sorted(os.listdir(".")):
    if zlib.crc32(case.encode()) % 4 == 0:
        print(case)' | while read -r case; do
    "$INQ" analyze "$case" -q -f json
done | python3 "$SAMPLES/../tests/cli/figures.py" schema tool inputs options findings headline why next sure \
    text what alternatives reason advice time_ns steps
