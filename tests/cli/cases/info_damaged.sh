"$INQ" info bad_cut bad_mixed/notes.txt
