"$INQ" analyze -f json ok_two_ranks
