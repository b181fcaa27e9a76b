"$INQ" list
