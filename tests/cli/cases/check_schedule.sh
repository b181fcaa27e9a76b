"$INQ" schedule make --make 1f1b -p 4 -m 8 -o s.csv
"$INQ" check s.csv --baseline s.json --update --times 2,2,1,0.5; echo "exit $?"
"$INQ" check --make 1f1b -p 4 -m 8 --baseline s.json --times 2,2,1,0.5 --tolerance 0%; echo "exit $?"
"$INQ" check --make gpipe -p 4 -m 8 --baseline s.json --times 2,2,1,0.5; echo "exit $?"
"$INQ" check --make gpipe -p 4 -m 8 --baseline s.json; echo "exit $?"
"$INQ" check --make gpipe -p 4 -m 9 --baseline s.json; echo "exit $?"
printf '%s\n' 0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1 1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1 >hangs.csv
"$INQ" check hangs.csv --baseline h.json --update; echo "exit $?"
"$INQ" check hangs.csv --baseline h.json --grouping none; echo "exit $?"
"$INQ" check hangs.csv --baseline h.json --grouping none --update; echo "exit $?"
printf '%s\n' 0F0,0F1,0B0,0B1 1F0,1B0,1F1,1X1 >bad.csv
"$INQ" check bad.csv --baseline h.json; echo "exit $?"
for format in github gitlab; do "$INQ" check bad.csv --baseline h.json -f $format; echo "exit $?"; done
