cp -R "$SAMPLES/clock_offset_dp4" . && "$INQ" analyze clock_offset_dp4 -q
