printf '%s\n' 0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1 1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1 |
    "$INQ" schedule lint --grouping none -; echo "exit $?"
"$INQ" schedule make --make zb-v -p 2 -m 4 --comms | "$INQ" schedule lint -; echo "exit $?"
echo 0X0 | "$INQ" schedule lint -; echo "exit $?"
