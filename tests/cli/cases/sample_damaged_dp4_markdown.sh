cp -R "$SAMPLES/damaged_dp4" . && "$INQ" analyze damaged_dp4 -q -f markdown
