"$INQ" analyze --quiet=yes ok_two_ranks
