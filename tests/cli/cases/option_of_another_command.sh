"$INQ" info --fail-on high ok_two_ranks
