"$INQ" schedule show --make 1f1b -p 2 -m 2
"$INQ" schedule show --make dp -p 2 -m 2 --times 1,1,1,0,2,1
"$INQ" schedule show --make dp -p 2 -m 2 --times 1,1,1,0,2,1 --no-overlap | head -n 2
"$INQ" schedule show --make dualpipev -p 3 -m 8
"$INQ" schedule show --make chimera -p 4 -m 4 --at 5ms
"$INQ" schedule show --make dualpipe -p 4 -m 8 --at 9.5ms -f json
# at its start the second stage has nothing to do
"$INQ" schedule show --make 1f1b -p 2 -m 2 --at 0 -f json
"$INQ" schedule show --make 1f1b -p 2 -m 4 --times 1,1,1,0/2,2,1 | head -n 2
"$INQ" schedule show --make 1f1b -p 2 -m 2 -o s.svg && head -n 3 s.svg
"$INQ" schedule show --make 1f1b -p 2 -m 2 -f perfetto | head -n 5
"$INQ" schedule make --make v-min -p 2 -m 3
"$INQ" schedule show --make zb-1p -p 4 -m 8 --memory-limit 0.5
"$INQ" schedule make --make chimera -p 3 -m 4
