"$INQ" info
