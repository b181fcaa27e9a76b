"$INQ" analyze -f json bad_job
