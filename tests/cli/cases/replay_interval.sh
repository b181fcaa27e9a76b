for repeats in 5 6; do # the least number of which a median has a 95 % interval
    echo "$repeats:"
    "$INQ" replay --make 1f1b -p 2 -m 2 --engine host --scale 0.01 --repeats "$repeats" -f json |
        grep -oE '"(ci95_ns|range_ns)"'
    "$INQ" replay --make 1f1b -p 2 -m 2 --engine host --scale 0.01 --repeats "$repeats" |
        grep -oE '(95 %|all): .* to' | grep -oE '95 %|all'
done
