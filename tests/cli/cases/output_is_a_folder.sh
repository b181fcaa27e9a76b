"$INQ" info ok_two_ranks -f text -o bad_none
