"$INQ" analyze bad_mixed
