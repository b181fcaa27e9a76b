# one page with the original step and those with a fix; a refuted or untried fix says so
"$INQ" synth dp=2,pp=2,steps=4,micro_batches=4,seed=3,fault=long_last_stage:factor=1.5 -q -o run
"$INQ" fix run --validate sim --top 1 -q -o fixes.html
sed -n '1,10p' fixes.html | grep -oE '<!doctype html>|default-src .none.|<title>.*</title>'
grep -oE '<h[13]>[^<]*' fixes.html
grep -oE '"verdict":"[a-z_]*"' fixes.html | sort | uniq -c
