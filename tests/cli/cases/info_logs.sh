"$INQ" info bad_job
