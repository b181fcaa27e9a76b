"$INQ" analyze --only time_brakdown ok_two_ranks
