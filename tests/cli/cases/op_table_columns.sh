# the words of README.md as a header; then one that lacks a column, one that has no such column
cat >table.csv <<'END'
Step,Stage,DP rank,op type,micro-batch,Start (ms),Duration (ms)
0,0,0,forward-compute,0,0,10
0,1,0,forward-compute,0,10,10
0,1,0,backward-compute,0,20,20
0,0,0,backward-compute,0,40,20
END
"$INQ" info table.csv | head -n 1
sed '1s/op type/kind/' table.csv >without_type.csv
sed '1s/Duration (ms)/length/' table.csv >without_length.csv
printf 'step,start,end,loss\n1,0,1,4.5\n' >times_of_training.csv
printf 'name,color\napple,red\n' >fruits.csv
"$INQ" info without_type.csv without_length.csv times_of_training.csv fruits.csv
# what the host does between ops is named as the table has it
{
    echo "step,stage,dp_rank,op_type,microbatch,start_s,duration_s"
    for step in 0 1 2; do
        echo "$step,0,0,data-loading,0,$step.00,0.20"
        echo "$step,0,0,forward-compute,0,$step.20,0.20"
        echo "$step,0,0,backward-compute,0,$step.40,0.30"
        echo "$step,0,0,garbage-collection,0,$step.70,0.10"
        echo "$step,0,0,optimizer,0,$step.80,0.15"
    done
} >host.csv
"$INQ" analyze -q --only account host.csv | grep -E "^waiting for the host|host: idle"
