"$INQ" synth dp=2,pp=4,micro_batches=8,steps=5,seed=3 -o run
"$INQ" schedule show -q run
"$INQ" schedule show -q run --at S3:F1:end
"$INQ" schedule show -q run --at 100ms
"$INQ" schedule show -q run --at 10s
"$INQ" schedule show -q run --step 11 | head -n 1
"$INQ" schedule show -q run --step 99
"$INQ" schedule convert -q run -o s.csv
cat s.csv
"$INQ" schedule lint s.csv
