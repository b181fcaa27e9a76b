"$INQ" info ok_two_ranks -o no_such_folder/report.txt
