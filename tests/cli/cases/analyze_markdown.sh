"$INQ" analyze -f markdown ok_two_ranks
