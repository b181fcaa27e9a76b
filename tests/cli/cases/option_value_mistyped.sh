"$INQ" analyze -f jsno ok_two_ranks
