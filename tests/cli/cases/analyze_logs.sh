"$INQ" analyze bad_job
