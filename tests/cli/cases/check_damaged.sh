# Cut files, findings and missing ranks: said by the check, and no baseline without --force.
for i in 1 2; do "$INQ" synth "dp=2,layers=4,steps=8,lean=1,cpu_ops=0,gz=0,seed=$i" -o "run$i" >/dev/null; done
"$INQ" check run1 --baseline b.json --update; echo "exit $?"
cp -r run2 cut
for file in cut/*rank*.json; do head -c $(($(wc -c <"$file") * 7 / 10)) "$file" >part && mv part "$file"; done
"$INQ" check cut --baseline b.json; echo "exit $?"
"$INQ" check cut --baseline c.json --update; echo "exit $?"
"$INQ" check cut --baseline c.json --update --force >/dev/null; echo "exit $?"
# half of the kernels of every step are gone: less work, not a gain
"$INQ" synth "dp=2,layers=2,steps=8,lean=1,cpu_ops=0,gz=0,seed=2" -o half >/dev/null
"$INQ" check half --baseline b.json; echo "exit $?"
# what reviewers read says so, too
for format in github gitlab junit markdown; do "$INQ" check half --baseline b.json -f $format 2>/dev/null; echo "exit $?"; done
"$INQ" check half --baseline none.json -f github 2>/dev/null; echo "exit $?"
# fewer steps than the baseline has: a gain is not told as one
"$INQ" check run2 --baseline b.json -s 3..4; echo "exit $?"
# several runs, each with its own baseline
"$INQ" check run1 run2 --baseline all/ --update >/dev/null; echo "exit $?"
"$INQ" check run1/ run2 --baseline all -f json | grep -E '"(schema|pass|name|headline)": "?(inq|tr|fa|run|Pass)'; echo "exit $?"
# compare tells other work from damage, too; where hardly anything was read, it says so
"$INQ" synth "dp=2,layers=4,steps=8,lean=1,cpu_ops=0,gz=0,seed=1" -o early >/dev/null
for file in early/*rank*.json; do head -c $(($(wc -c <"$file") * 3 / 10)) "$file" >part && mv part "$file"; done
"$INQ" compare run1 early | head -3; echo "exit $?"
for file in early/*rank*.json; do head -c 2000 "$file" >part && mv part "$file"; done
"$INQ" compare run1 early; echo "exit $?"
"$INQ" check early --baseline b.json; echo "exit $?"
