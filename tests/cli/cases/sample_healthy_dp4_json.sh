# the path's segments and the longest waits are many: their order is tested elsewhere
cp -R "$SAMPLES/healthy_dp4" . && "$INQ" analyze healthy_dp4 -q -f json |
    sed '/"segments": \[/,/^    \]/d; /"worst": \[/,/^    \]/d'
