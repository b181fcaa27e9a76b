"$INQ" info -f json ok_two_ranks
