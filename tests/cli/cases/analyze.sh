"$INQ" analyze ok_two_ranks
