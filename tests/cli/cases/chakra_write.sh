"$INQ" schedule show --make 1f1b -p 4 -m 8 --times 1.0005,1,1,0.25 -o s.et; echo "exit $?"
ls s.*.et
"$INQ" schedule show --make 1f1b -p 4 -m 8 --times 1.0005,1,1,0.25 -f json | grep '"makespan_ns"'
"$INQ" schedule show s.*.et -f json | grep '"makespan_ns"'
"$INQ" replay s.*.et --engine sim -f json | grep '"simulated_ns"' | head -1
"$INQ" analyze s.*.et --only pipeline | head -12
"$INQ" fix s.*.et --fix schedule:zb-h1 | head -3
mkdir again
"$INQ" replay s.*.et --engine sim -o again/r.et.gz | head -1
ls again
"$INQ" schedule show again -f json | grep '"makespan_ns"'
"$INQ" schedule show --make 1f1b -p 4 -m 8 -f chakra; echo "exit $?"
"$INQ" schedule show again -o t.et; echo "exit $?"
