"$INQ" analyze -j 0 ok_two_ranks
