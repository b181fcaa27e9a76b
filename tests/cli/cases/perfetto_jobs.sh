sed "s/1700000000000000000/1700009000000000000/" ok_two_ranks/rank0.json >bad_none/rank0.json
sed "s/1700000000000000000/1700009000000000000/" ok_two_ranks/rank1.json >bad_none/rank1.json
"$INQ" analyze ok_two_ranks bad_none -f perfetto; echo "exit $?"
"$INQ" analyze ok_two_ranks bad_none -o out.trace.json; echo "exit $?"
ls
