"$INQ" analyze no_such_folder/
