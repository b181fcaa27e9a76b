sed "s/1700000000000000000/1700009000000000000/" ok_two_ranks/rank0.json >bad_none/rank0.json
sed "s/1700000000000000000/1700009000000000000/" ok_two_ranks/rank1.json >bad_none/rank1.json
"$INQ" analyze ok_two_ranks bad_none -r 0 --only time_breakdown
"$INQ" analyze ok_two_ranks bad_none -f json | grep -E "schema|\"name\""
