"$INQ" analyze bad_none
