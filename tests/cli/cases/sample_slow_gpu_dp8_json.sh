# the path's segments and the longest waits are many: their order is tested elsewhere
cp -R "$SAMPLES/slow_gpu_dp8" . && "$INQ" analyze slow_gpu_dp8 -q -f json |
    sed '/"segments": \[/,/^    \]/d; /"worst": \[/,/^    \]/d'
