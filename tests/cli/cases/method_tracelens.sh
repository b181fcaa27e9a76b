"$INQ" analyze --method tracelens --only tracelens ok_two_ranks
