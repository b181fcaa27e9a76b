# schedules of every kind, small, uneven and large: what is drawn, timed, linted and written
version=$("$INQ" --version | sed -n '1s/.* //p')
digest() { sed "s/$version/VERSION/g" | sha256sum | cut -c 1-6; }
while read -r kind p m rest; do
    set -- --make "$kind" -p "$p" -m "$m" $rest
    echo "==== $*"
    "$INQ" schedule show "$@" -q 2>&1 | sed -n '1,2p'
    for format in text json csv perfetto svg; do
        echo "  $format $("$INQ" schedule show "$@" -q -f $format 2>&1 | digest)"
    done | paste -s -d ' '
    for format in text json junit gitlab sarif; do
        echo "  lint $format $("$INQ" schedule lint "$@" -q -f $format 2>&1 | digest)"
    done | paste -s -d ' '
done <<'S'
gpipe 3 5
gpipe 1 1
1f1b 4 120
1f1b 4 12 --times 2,2,2,1/3,3,1/1,1,1/2,4,2 --memory 3,1,0
1f1b 2 1 --times 1,1,1,5
1f1b 5 3 --comms
interleaved 4 8 --chunks 3 --times 1,1,1,1
interleaved 2 4 --comms --memory 34MiB,8MiB,0 --memory-limit 200MiB
seq1f1b 3 6 --chunks 3
zb-h1 4 8 --times 18,18,9,1
zb-h2 4 9 --times 1,1,1
zb-1p 4 8 --memory-limit 3
zb-2p 3 12 --memory 3,1,0 --times 2,2,2,1
zb-v 3 8
zb-v 2 4 --times 3,2,1,1
v-min 4 8 --times 1,1,1,1
v-half 4 8
dualpipe 4 8 --times 1,1,1,0,FB=2
dualpipev 3 10
chimera 4 4 --times 2,2,2
interleaved-zb 2 6
looped-bfs 2 4
dp 3 3 --times 1,1,1,0,2,1 --chunks 4
dp 2 2 --times 1,1,1,0,5,2,1 --no-overlap
S
# forwards are 18 px wide: room for two digits, not for three; backwards are twice as wide
cells() { seq -s , -f "0$1%g" 81 100; }
echo "$(cells F),$(cells B)" >narrow.csv
"$INQ" schedule show narrow.csv -q -f svg | grep -oE '>(9|99|100)</text>' | sort | uniq -c
