cp -R "$SAMPLES/late_host_dp4" . && "$INQ" analyze late_host_dp4 -q -f markdown
