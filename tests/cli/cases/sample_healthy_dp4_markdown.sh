cp -R "$SAMPLES/healthy_dp4" . && "$INQ" analyze healthy_dp4 -q -f markdown
