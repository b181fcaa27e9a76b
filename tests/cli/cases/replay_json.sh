"$INQ" replay --make zb-h1 -p 2 -m 3 --engine sim -f json
"$INQ" replay --make zb-h1 -p 2 -m 2 --engine sim -f json -v | tail -n +32
