# Several files and folders in one call, of check and of lint: each is reported in every format that
# both have, and one exit status is that of all. A reviewer hears of what passes only where a report
# has a place for it.
mkdir -p many/deep
"$INQ" schedule make --make 1f1b -p 2 -m 4 -o many/a.csv
"$INQ" schedule make --make zb-h1 -p 2 -m 4 -o many/deep/b.csv
"$INQ" schedule make --make 1f1b -p 2 -m 4 --comms -o c.csv
formats='text json markdown junit github gitlab sarif'
names() { grep -oE '(many/|many/deep/)?[abc][.]csv' | sort -u | paste -sd' '; }
lint() { "$INQ" schedule lint c.csv many/ --grouping none -f "$1" >out; echo "lint $1: exit $?: $(names <out)"; }
check() { "$INQ" check c.csv many/ --baseline base/ -f "$1" >out; echo "check $1: exit $?: $(names <out)"; }
"$INQ" check c.csv many/ --baseline base/ --update >/dev/null; echo "exit $?"
echo base/*
for format in $formats; do lint $format; check $format; done
echo '== one is refused, one got worse, one is as it was'
printf '%s\n' 0F0,0B0,0F1,0B1,0F2,0B2,0F3,0B3 1F1,1B1,1F0,1B0,1F2,1B2,1F3,1B3 >many/deep/b.csv
"$INQ" schedule make --make gpipe -p 2 -m 4 -o many/a.csv
for format in $formats; do lint $format; check $format; done
"$INQ" schedule lint c.csv many/ -f markdown
echo '== what is not there keeps none of the others from being examined'
"$INQ" check c.csv no.csv --baseline base/ | head -2; echo "exit ${PIPESTATUS[0]}"
"$INQ" schedule lint c.csv no.csv | head -1; echo "exit ${PIPESTATUS[0]}"
echo '== two of one name would share a baseline'
cp many/a.csv many/deep/a.csv
"$INQ" check many/ --baseline base/; echo "exit $?"
echo '== formats that lint does not have, and those that only it has'
for format in csv svg perfetto chakra; do "$INQ" schedule lint c.csv -f $format; echo "exit $?"; done
for format in markdown junit; do "$INQ" schedule show c.csv -f $format; echo "exit $?"; done
