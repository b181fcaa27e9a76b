"$INQ" analyze ok_two_ranks --time 10ms~20ms --only time_breakdown,collectives; echo "exit $?"
"$INQ" analyze ok_two_ranks --time 12ms~ --only time_breakdown -f json | grep -E '"(time|step|rank|span_ns)"'
# the first finding's first evidence can be pasted
when=$("$INQ" analyze ok_two_ranks | grep -oE '[0-9.]+s~[0-9.]+s' | head -1)
echo "$when"
"$INQ" analyze ok_two_ranks --time "$when" --only time_breakdown | tail -4
for bad in 5 "~" 2s~1s 1s~1s a~b; do
    "$INQ" analyze ok_two_ranks --time "$bad"; echo "exit $?"
done
"$INQ" analyze ok_two_ranks --time 100s~200s; echo "exit $?"
