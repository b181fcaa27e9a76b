# by which lines another fourth of the failure corpus is explained: evidence, course, victims, what else it
# could be
python3 "$SAMPLES/../tests/bench/failure_corpus/score.py" "$INQ" --write corpus >/dev/null
cd corpus
python3 -c 'import os, zlib
for case in sorted(os.listdir(".")):
    if zlib.crc32(case.encode()) % 4 == 2:
        print(case)' | while read -r case; do
    "$INQ" analyze "$case" -j 1 -q -f json
done | python3 "$SAMPLES/../tests/cli/figures.py" schema tool inputs options findings verdict next sure text advice \
    training steps confidence_why time_ns missing_ranks suspect_ranks group seq | cut -c 1-220
