cp -R "$SAMPLES/slow_gpu_dp8" . && "$INQ" analyze slow_gpu_dp8 -q -f markdown
