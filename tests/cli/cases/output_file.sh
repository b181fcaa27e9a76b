set -e
echo old >report.json
"$INQ" analyze ok_two_ranks -o report.json
head -2 report.json
"$INQ" analyze -q ok_two_ranks -o report.md
head -1 report.md
"$INQ" info ok_two_ranks -o link.txt && ln -s link.txt through && "$INQ" info -o through -f text bad_none
head -1 link.txt
ls
