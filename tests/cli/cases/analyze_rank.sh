"$INQ" analyze -r 1 --only time_breakdown,collectives ok_two_ranks
