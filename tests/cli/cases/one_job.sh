# what takes one job says what there is instead, the same everywhere
for command in fix replay "check --baseline b.json --update" "schedule show" "compare bad_none"; do
    "$INQ" $command bad_none; echo "exit $?"
done
mkdir two
"$INQ" synth dp=1,steps=2,layers=2 -q -o two/a
"$INQ" synth dp=1,steps=2,layers=2,seed=2,first_step=50 -q -o two/b
for command in fix replay "check --baseline b.json --update" "compare two/a"; do
    "$INQ" $command two; echo "exit $?"
done
"$INQ" schedule draw s.csv; echo "exit $?"
