"$INQ" analyze -s 50..60 ok_two_ranks
