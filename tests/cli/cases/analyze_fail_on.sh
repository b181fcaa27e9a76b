"$INQ" analyze bad_job --fail-on high > report.txt
