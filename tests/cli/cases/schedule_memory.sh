# Table 5 of the Zero Bubble paper (arXiv 2401.10241), from its times (Table 9) and its memory: a
# layer's forward keeps 34h + 5as, after the input gradient 32h of it (s = 1024). Beside what is
# published: 1F1B, ZB-H1, ZB-H2, ZB-1p, ZB-2p.
rows() {
    while read -r p m times a h published; do
        kept=$((34 * h + 5 * a * 1024))
        printf '%s' "p=$p m=$m:"
        for kind in 1f1b zb-h1 zb-h2 zb-1p zb-2p; do
            "$INQ" schedule show --make $kind -p "$p" -m "$m" --times "$times" \
                --memory "$kept,$((32 * h)),0" -f json |
                awk -F'[:,]' '/"bubble_rate_zb"/ { printf " %.4f", $2; exit }'
        done
        echo "  published: $published"
    done
}
rows <<'ROWS'
8 24 18.522,18.086,9.337,0.601 24 2304 .2431 .1585 .1083 .1585 .0433
8 32 18.513,18.086,9.331,0.626 24 2304 .1985 .1242 .0837 .1242 .0039
8 64 18.546,18.097,9.321,0.762 24 2304 .1240 .0674 .0444 .0674 .0026
16 48 11.347,11.248,8.132,0.377 40 5120 .2552 .1397 .0672 .1397 .0066
16 64 11.307,11.254,8.101,0.379 40 5120 .2082 .1088 .0516 .1088 .0054
16 128 11.325,11.308,8.109,0.378 40 5120 .1251 .0576 .0266 .0576 .0028
ROWS
# the same said as changes; with units; by stage; in a file
"$INQ" schedule show --make zb-2p -p 8 -m 24 --times 18.522,18.086,9.337,0.601 --memory 201216,-127488,-73728 | head -2
"$INQ" schedule lint --make 1f1b -p 2 -m 4 --memory 3GiB,1GiB,0 --memory-limit 5.5GiB; echo "exit $?"
"$INQ" schedule lint --make 1f1b -p 2 -m 4 --memory 1,1,0/2,1,0 --memory-limit 2; echo "exit $?"
printf '1, 1, 0 # first stage\n3, 1, 0\n' >stages.memory
"$INQ" schedule lint --make 1f1b -p 2 -m 4 --memory stages.memory --memory-limit 2; echo "exit $?"
for bad in 1,2 1,1,1,1 x,1,0 1,0,2 no.file; do
    "$INQ" schedule show --make 1f1b -p 2 -m 4 --memory $bad; echo "exit $?"
done
# the transfer behind each stage
"$INQ" schedule show --make 1f1b -p 3 -m 3 --times 1,1,1,0.5/1,1,1,2 | sed -n 2p
"$INQ" schedule compare 1f1b zb-1p zb-2p -p 8 -m 24 --times 18.522,18.086,9.337,0.601 --memory 201216,73728,0
# search finds what fits, check holds the peak, both in the memory that was told
"$INQ" schedule search -p 8 -m 24 --times 18.522,18.086,9.337,0.601 --memory 201216,73728,0 --memory-limit 1700000 | head -4
check() { "$INQ" check --make "$1" -p 8 -m 24 --times 18.522,18.086,9.337,0.601 --memory 201216,73728,0 --baseline b.json $2 >out; echo "exit $?"; sed -n 1,3p out; }
check zb-1p --update
check zb-2p
# units are told where they were given; amounts that cannot be held against each other are refused
"$INQ" schedule compare 1f1b zb-h1 -p 4 -m 8 --memory 34MiB,8MiB,0 | tail -6
"$INQ" check --make 1f1b -p 4 -m 8 --memory 1.5GiB,0.5GiB,0 --baseline g.json --update >out; echo "exit $?"
"$INQ" check --make gpipe -p 4 -m 8 --memory 1.5GiB,0.5GiB,0 --baseline g.json | head -2
"$INQ" check --make gpipe -p 4 -m 8 --memory 1.5,0.5,0 --baseline g.json | head -4
"$INQ" schedule lint --make 1f1b -p 2 -m 4 --memory-limit 40GiB; echo "exit $?"
"$INQ" schedule lint --make 1f1b -p 2 -m 4 --memory 34MiB,8MiB,0 --memory-limit 8; echo "exit $?"
"$INQ" schedule lint --make 1f1b -p 2 -m 4 --memory 34MiB,8,0; echo "exit $?"
