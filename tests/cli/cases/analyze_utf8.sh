LC_ALL=C.UTF-8 "$INQ" analyze --only time_breakdown ok_two_ranks
