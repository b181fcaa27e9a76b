"$INQ" analyze bad_cut
