"$INQ" schedule make --make zb-h1 -p 4 -m 8 -o mine.csv
"$INQ" schedule compare 1f1b zb-h2 zb-v dualpipe interleaved mine.csv -p 4 -m 8 --times 18,18,9,1
"$INQ" schedule compare 1f1b mine.csv dualpipe -p 3 -m 8 -f json
"$INQ" schedule search -p 4 -m 16 --times 18,18,9,1 --memory-limit 3
"$INQ" schedule search -p 4 -m 16 --sizes 1:2,2,1/4:6,6,3 --memory-limit 6
"$INQ" schedule search -p 4 -m 16 --sizes 1:2,2
"$INQ" schedule compare
"$INQ" schedule lint --make 1f1b -p 4 -m 8 --baseline mine.csv
"$INQ" schedule lint --make 1f1b -p 4 -m 8 --baseline mine.csv --tolerance 100%
