# one page; only D3 and ours may run
"$INQ" analyze -q ok_two_ranks -o report.html && grep -c '<script' report.html && sed -n '1,10p' report.html | grep -oE '<!doctype html>|default-src .none.|<title>.*</title>'
