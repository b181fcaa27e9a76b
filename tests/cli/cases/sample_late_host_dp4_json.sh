# the path's segments and the longest waits are many: their order is tested elsewhere
cp -R "$SAMPLES/late_host_dp4" . && "$INQ" analyze late_host_dp4 -q -f json |
    sed '/"segments": \[/,/^    \]/d; /"worst": \[/,/^    \]/d'
