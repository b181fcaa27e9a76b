"$INQ" analyze -q --fail-on high ok_two_ranks -o /dev/null -f text; echo "exit $?"
"$INQ" analyze -q --fail-on high bad_cut -o /dev/null -f text; echo "exit $?"
