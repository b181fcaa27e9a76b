"$INQ" analyze --fromat json ok_two_ranks
