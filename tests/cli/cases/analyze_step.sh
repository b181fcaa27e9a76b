"$INQ" analyze -s 6 ok_two_ranks
