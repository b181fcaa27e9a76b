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
