"$INQ" analyze -qZ ok_two_ranks
