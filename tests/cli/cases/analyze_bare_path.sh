"$INQ" ok_two_ranks | head -1
