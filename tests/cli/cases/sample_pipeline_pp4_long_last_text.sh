cp -R "$SAMPLES/pipeline_pp4_long_last" . && "$INQ" analyze pipeline_pp4_long_last -q
