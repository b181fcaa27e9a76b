# where checks and lint point to in a schedule's file: first and later lines, cells and ranks
"$INQ" schedule make --make 1f1b -p 2 -m 3 -o good.csv
"$INQ" check good.csv --baseline base.json --update >/dev/null
cat >places.py <<'P'
import json, sys
def show(value):
    if isinstance(value, dict):
        if "position" in value or "first" in value or "line" in value:
            print("  place", *(f"{k}={v}" for k, v in value.items() if not isinstance(v, (dict, list))))
        for v in value.values():
            show(v)
    elif isinstance(value, list):
        for v in value:
            show(v)
show(json.loads(sys.stdin.read() or "{}"))
P
cat good.csv
n=0
try() { # the file's lines
    n=$((n + 1))
    printf '%s\n' "$@" >"try$n.csv"
    echo "==== $*"
    "$INQ" check "try$n.csv" --baseline base.json -f json 2>/dev/null | python3 places.py
    "$INQ" check "try$n.csv" --baseline base.json -f github
    "$INQ" schedule lint "try$n.csv" -f json 2>/dev/null | python3 places.py
    "$INQ" schedule lint "try$n.csv" | head -n 12
}
try 0F0,0F1,0B0,0F2,0B1,0B2 1F0,1B0,1F1,1B1,1F2,1B2
try 0F1,0F0,0B0,0F2,0B1,0B2 1F0,1B0,1F1,1B1,1F2,1B2
try 0F0,0F1,0B0,0F2,0B1,0B2 1F0,1B0,1F1,1B1,1B2,1F2
try 0B0,0F0,0F1,0F2,0B1,0B2 1F0,1B0,1F1,1B1,1F2,1B2
try "" 0F0,0F1,0B0,0F2,0B1,0B2 "" 1F0,1B0,1F1,1B1,1F2,1F2
try 0F0,0F1,0B0,0F2,0B1,0B2 1F0,1B0,1F1,1B1,1F2
try 0F0 1F0
try 1F0,0F1,0B0,0F2,0B1,0B2 0F0,1B0,1F1,1B1,1F2,1B2
try 0F0,0F1,0F2,0B0,0B1,0B2 1F0,1F1,1F2,1B0,1B1,1B2
try 0F0,0F1,0F2,0B2,0B1,0B0 1F2,1F1,1F0,1B0,1B1,1B2
