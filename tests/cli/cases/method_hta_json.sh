"$INQ" analyze --method hta --only hta -f json ok_two_ranks
