"$INQ" analyze -r 7 ok_two_ranks
