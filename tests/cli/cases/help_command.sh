"$INQ" help analyze && "$INQ" info --help
