# results are never written over what was read: by whatever name, link or folder
before=$(cat ok_two_ranks/* | cksum)
"$INQ" analyze ok_two_ranks -o ok_two_ranks/rank0.json; echo "exit $?"
ln -s rank0.json ok_two_ranks/again.json
"$INQ" analyze ok_two_ranks/rank0.json ok_two_ranks/rank1.json -o ok_two_ranks/again.json -f markdown; echo "exit $?"
rm ok_two_ranks/again.json
ln ok_two_ranks/rank1.json hard.json
"$INQ" compare ok_two_ranks ok_two_ranks/rank0.json -o hard.json; echo "exit $?"
"$INQ" check ok_two_ranks --baseline ok_two_ranks/rank0.json --update; echo "exit $?"
"$INQ" check ok_two_ranks --baseline base.json --update --force -q >/dev/null; echo "exit $?"
"$INQ" check ok_two_ranks --baseline base.json -o base.json; echo "exit $?"
"$INQ" schedule show --make 1f1b -p 2 -m 2 -f csv -o s.csv; "$INQ" schedule convert s.csv -o s.csv; echo "exit $?"
[ "$before" = "$(cat ok_two_ranks/* | cksum)" ] && echo "inputs as they were"
# an earlier report in the folder is no input
"$INQ" analyze ok_two_ranks -q -o ok_two_ranks/report.json && "$INQ" analyze ok_two_ranks -q -o ok_two_ranks/report.json; echo "exit $?"
