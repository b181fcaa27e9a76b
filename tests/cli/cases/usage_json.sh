"$INQ" info -f json --rank 1 ok_two_ranks
