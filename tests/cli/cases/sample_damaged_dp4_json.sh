# the path's segments and the longest waits are many: their order is tested elsewhere
cp -R "$SAMPLES/damaged_dp4" . && "$INQ" analyze damaged_dp4 -q -f json |
    sed '/"segments": \[/,/^    \]/d; /"worst": \[/,/^    \]/d'
