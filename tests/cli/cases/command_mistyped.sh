"$INQ" anaylze ok_two_ranks
