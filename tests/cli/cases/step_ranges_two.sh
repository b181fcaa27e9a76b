"$INQ" analyze -s 5,7 ok_two_ranks
