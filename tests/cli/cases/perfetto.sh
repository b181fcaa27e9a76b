"$INQ" analyze ok_two_ranks -o run.trace.json; echo "exit $?"
"$INQ" analyze ok_two_ranks -q -f perfetto -o run.json.gz; echo "exit $?"
gzip -dc run.json.gz | cmp - run.trace.json && echo "the same, compressed"
"$INQ" analyze ok_two_ranks -q -f perfetto | cmp - run.trace.json && echo "the same on stdout"
head -1 run.trace.json | cut -c1-200
grep -c '"ph":"X"' run.trace.json
"$INQ" info run.json.gz; echo "exit $?"
"$INQ" analyze ok_two_ranks -q -o report.json.gz && gzip -dc report.json.gz | head -2
