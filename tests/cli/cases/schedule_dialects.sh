# Both dialects, there and back; what 2024 has no letters for; the kinds of PyTorch that are younger.
"$INQ" schedule make --make zb-h1 -p 2 -m 3 --to 2024 -o old.csv && cat old.csv
"$INQ" schedule convert old.csv && "$INQ" schedule convert old.csv --to 2024 | cmp - old.csv && echo same
"$INQ" schedule make --make 1f1b -p 2 -m 2 --to 2024
"$INQ" schedule make --make dualpipev -p 2 -m 4 --to 2024; echo "exit $?"
for kind in looped-bfs interleaved-zb seq1f1b; do
    "$INQ" schedule make --make $kind -p 2 -m 4 -o $kind.csv
    "$INQ" schedule show $kind.csv | sed -n 1,2p
    "$INQ" schedule lint $kind.csv | head -n 1
done
# what no letter tells is told: B is the input gradient alone in 2024, and full today
printf '0F0,0F1,0B0,0B1\n' >bare.csv
"$INQ" schedule convert bare.csv -q && "$INQ" schedule convert bare.csv --dialect 2024 -q
"$INQ" schedule convert old.csv --dialect current -q | head -n 1
