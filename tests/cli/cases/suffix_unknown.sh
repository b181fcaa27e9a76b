"$INQ" analyze ok_two_ranks -o report.docx; echo "exit $?"; ls
