"$INQ" info ok_two_ranks
