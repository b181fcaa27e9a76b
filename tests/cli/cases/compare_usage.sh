"$INQ" compare; echo "exit $?"
"$INQ" compare ok_two_ranks; echo "exit $?"
"$INQ" compare ok_two_ranks nowhere; echo "exit $?"
"$INQ" compare ok_two_ranks bad_none; echo "exit $?"
"$INQ" compare ok_two_ranks ok_two_ranks --samples 64; echo "exit $?"
"$INQ" compare ok_two_ranks ok_two_ranks --samples 64,-1; echo "exit $?"
"$INQ" compare ok_two_ranks ok_two_ranks -s 900; echo "exit $?"
"$INQ" compare ok_two_ranks ok_two_ranks -q | head -3
"$INQ" compare ok_two_ranks ok_two_ranks --job 1,2; echo "exit $?"
