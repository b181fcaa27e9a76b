"$INQ" info ok_two_ranks -o info.md
