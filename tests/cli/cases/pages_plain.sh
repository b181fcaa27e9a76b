# html: what a page says without scripts, of each command that writes one
plain() {
    python3 -c '
import re, sys
page = sys.stdin.read()
print(re.search("<title>.*?</title>", page).group(0))
page = re.sub(r"<(script|style)\b.*?</\1>", "", page[page.index("<body"):], flags=re.S)
for line in re.sub(r"(</?(?:h\d|p|tr|table|li|ul|section|main|pre)\b)", r"\n\1", page).split("\n"):
    if line.strip():
        print(line.strip()[:300])'
}
for i in 1 2 3; do
    "$INQ" synth "dp=2,layers=2,steps=4,lean=1,cpu_ops=0,gz=0,seed=$i" -q -o "run$i" >/dev/null
done
"$INQ" synth dp=2,layers=2,steps=5,lean=1,cpu_ops=0,gz=0,seed=4,fault=slow_gpu:rank=1:factor=1.4 -q -o slow >/dev/null
"$INQ" synth dp=3,layers=2,steps=4,lean=1,cpu_ops=0,gz=0,seed=5 -q -o wide >/dev/null
echo "==== compare"
"$INQ" compare run1 slow -q -f html | plain
"$INQ" compare run1 wide -q -f html | plain
echo "==== check"
"$INQ" check run1 --baseline perf.json --update >/dev/null
"$INQ" check run2 --baseline perf.json -q -f html | plain
"$INQ" check slow --baseline perf.json -q -f html | plain
echo "==== fix"
"$INQ" fix slow --fix replace-rank:1 -q -f html | plain
echo "==== analyze"
"$INQ" analyze run1 slow -q -f html | plain | head -n 60
