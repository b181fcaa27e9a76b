"$INQ" info ok_two_ranks >/dev/full
