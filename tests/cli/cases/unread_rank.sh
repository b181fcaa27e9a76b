# a file that cannot be read is not a rank that left none
head -c 4096 /dev/zero >ok_two_ranks/rank1.json
"$INQ" analyze ok_two_ranks --only failure
"$INQ" analyze ok_two_ranks -f json | grep -A6 ranks_missing
"$INQ" info ok_two_ranks | head -n 3
# one of another kind beside it is none of rank 1's
mv ok_two_ranks/rank1.json ok_two_ranks/other_rank1.bin
"$INQ" analyze ok_two_ranks --only failure | head -n 2
# nor is an empty folder of that name
mkdir ok_two_ranks/rank1.json
"$INQ" analyze ok_two_ranks --only failure | head -n 2
