"$INQ" info bad_mixed
