# The work of a run by operator and shape: a narrower model is no gain; layers and micro-batches are
# told apart where operators were recorded, too.
run() {
    name=$1
    shift
    "$INQ" synth dp=2,steps=5,shapes=1,gz=0,"$(IFS=,; echo "$*")" -o "$name" -q >/dev/null
}
run wide hidden=4096 layers=4 micro_batches=4
"$INQ" check wide --baseline b.json --update -q >/dev/null
run again hidden=4096 layers=4 micro_batches=4 seed=2
run narrow hidden=2048 layers=4 micro_batches=4
run fewer hidden=4096 layers=4 micro_batches=3
run shallow hidden=4096 layers=3 micro_batches=4
for name in again narrow fewer shallow; do
    "$INQ" check $name --baseline b.json 2>&1 | sed -n 1p
done
"$INQ" compare wide narrow -q | sed -n 1,4p
