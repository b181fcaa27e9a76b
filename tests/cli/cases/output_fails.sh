# a disk that is full, a file that may not grow, a stdout that is closed: said, and nothing is left
"$INQ" analyze ok_two_ranks -o /dev/full; echo "exit $?"
"$INQ" analyze ok_two_ranks -f json -o /dev/full; echo "exit $?"
# the hint is of the disk, not of the schedule
"$INQ" schedule make --make 1f1b -p 2 -m 2 >/dev/full; echo "exit $?"
"$INQ" check ok_two_ranks --baseline /dev/full; echo "exit $?"
# (the sanitizers' own files are below this limit)
(ulimit -f 96; exec "$INQ" schedule make --make 1f1b -p 64 -m 256 -o large.csv); echo "exit $?"
ls large.csv*; echo "exit $?"
"$INQ" analyze ok_two_ranks -q -o closed.md >&-; echo "exit $?"
head -c 3 closed.md; echo
"$INQ" analyze ok_two_ranks >&-; echo "exit $?"
