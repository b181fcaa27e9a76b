# the path's segments and the longest waits are many: their order is tested elsewhere
cp -R "$SAMPLES/clock_offset_dp4" . && "$INQ" analyze clock_offset_dp4 -q -f json |
    sed '/"segments": \[/,/^    \]/d; /"worst": \[/,/^    \]/d'
