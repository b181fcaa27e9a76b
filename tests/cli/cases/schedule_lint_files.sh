mkdir -p s/more
"$INQ" schedule make --make zb-h1 -p 2 -m 4 --comms -o s/good.csv
printf '\n%s\n\n%s\n' 0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1 1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1 >s/more/hangs.csv
"$INQ" schedule lint s --grouping none; echo "exit $?"
"$INQ" schedule lint s/good.csv s/more/hangs.csv --grouping none -f json; echo "exit $?"
printf '%s\n' 0F0,0B0,0F1,0B1 1F1,1B1,1F0,1B0 >s/circle.csv
"$INQ" schedule lint s/circle.csv; echo "exit $?"
echo 0X0 >s/bad.csv
"$INQ" schedule lint s -f github; echo "exit $?"
for format in gitlab sarif junit; do "$INQ" schedule lint s/more --grouping none -f $format; echo "exit $?"; done
