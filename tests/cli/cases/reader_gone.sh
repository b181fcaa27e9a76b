set -o pipefail
"$INQ" analyze -v ok_two_ranks | head -1
echo "exit $?"
