set -e
mkfifo pipe
head -2 pipe &
"$INQ" info ok_two_ranks -f json -o pipe
wait
