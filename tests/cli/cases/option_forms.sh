set -e
"$INQ" info -fjson ok_two_ranks | head -2
"$INQ" -f json info ok_two_ranks | head -2
"$INQ" info ok_two_ranks --format=json | head -2
"$INQ" info -qvf json -- ok_two_ranks | head -2
