# what samples of GPUs add to a slow rank: its clock, reasons, temperature and errors, each at what counts
"$INQ" synth dp=4,layers=2,steps=4,lean=1,cpu_ops=0,gz=0,seed=3,fault=slow_gpu:rank=1:factor=1.4 -q -o run >/dev/null
head="timestamp, index, clocks.current.sm [MHz], temperature.gpu, ecc.errors.uncorrected.volatile.total, clocks_throttle_reasons.active"
# told CLOCK TEMPERATURE ERRORS REASONS: of rank 1's GPU, the others at 2000 MHz and 60 degrees
told() {
    {
        echo "$head"
        for gpu in 0 1 2 3; do
            for ms in 000 100; do
                if [ $gpu = 1 ]; then
                    echo "2026/01/15 08:00:00.$ms, 1, $1 MHz, $2, $3, $4"
                else
                    echo "2026/01/15 08:00:00.$ms, $gpu, 2000 MHz, 60, 0, 0x0000000000000000"
                fi
            done
        done
    } >run/gpus.csv
    echo "==== $*"
    "$INQ" analyze run -q -f csv --table findings |
        sed -n 's/.*,slow_gpu,.*others waited\. \(Its SM.*\)",".*/\1/p'
}
told 2000 60 0 0x0000000000000000
told 1999 60 0 0x0000000000000000
for clock in 1990 1960 1950 1941 1940 1939 1900 1200 2100; do told $clock 60 0 0x0; done
for bit in 1 2 4 8 10 20 40 80 100 200; do told 1200 60 0 0x$bit; done
told 1200 60 0 0x68
for celsius in 61 65 66 70 75 90; do told 1200 $celsius 0 0x40; done
told 1200 N/A 0 0x40
told 2000 60 1 0x0
told 2000 60 1234 0x0
told 1200 88 2 0x40
