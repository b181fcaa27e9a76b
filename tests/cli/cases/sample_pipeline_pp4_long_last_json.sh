# the path's segments and the longest waits are many: their order is tested elsewhere
cp -R "$SAMPLES/pipeline_pp4_long_last" . && "$INQ" analyze pipeline_pp4_long_last -q -f json |
    sed '/"segments": \[/,/^    \]/d; /"worst": \[/,/^    \]/d'
