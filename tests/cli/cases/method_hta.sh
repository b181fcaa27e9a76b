"$INQ" analyze --method hta --only hta ok_two_ranks
