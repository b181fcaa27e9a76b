"$INQ" --help
