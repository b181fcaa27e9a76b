"$INQ" analyze --color always --only time_breakdown bad_cut
