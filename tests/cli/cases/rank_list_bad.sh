"$INQ" analyze -r 3-1 ok_two_ranks
