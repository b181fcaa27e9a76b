"$INQ" info bad_none
