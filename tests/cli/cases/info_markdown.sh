"$INQ" info -f markdown ok_two_ranks
