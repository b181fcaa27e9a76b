"$INQ" info -f json no_such_folder/
