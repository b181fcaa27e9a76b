"$INQ" analyze -q --fail-on high ok_two_ranks -o /dev/null -f text; echo "exit $?"
"$INQ" analyze -q --fail-on high bad_mixed -o /dev/null -f text; echo "exit $?"
"$INQ" analyze -q --fail-on medium bad_mixed -o /dev/null -f text; echo "exit $?"
