# The jobs of tests/cli/ci, their commands as they stand there: a schedule that got longer and one
# that hangs, in a repository that has baselines.
jobs=$SAMPLES/../tests/cli/ci
mkdir bin schedules && ln -s "$INQ" bin/inquest && PATH=$PWD/bin:$PATH
"$INQ" schedule make --make 1f1b -p 2 -m 4 -o schedules/even.csv
"$INQ" schedule make --make zb-h1 -p 4 -m 6 -o schedules/zb.csv
"$INQ" schedule make --make 1f1b -p 2 -m 2 --comms -o schedules/sends.csv
"$INQ" check schedules/ --baseline baselines/ --update >/dev/null
sed -i '2s/1F1,1B0/1B0,1F1/; 1s/0F1,0B0/0B0,0F1/' schedules/even.csv
sed -i '3s/2W0,2F4/2F4,2W0/; 2s/1F2,1F3/1F3,1F2/' schedules/zb.csv
sed -i '1s/0RECV_B0,0B0/0B0,0RECV_B0/' schedules/sends.csv
echo "== GitHub"
export GITHUB_STEP_SUMMARY=summary.md
awk '/^ *- run: / { sub(/^ *- run: /, ""); print }' "$jobs/github.yml" |
    while IFS= read -r line; do echo "\$ $line"; (eval "$line"); echo "exit $?"; done
echo "== its summary" && cat summary.md
echo "== its SARIF" && cat check.sarif
echo "== GitLab"
awk '/^  script:/ { on = 1; next } /^  [a-z]/ { on = 0 } on { sub(/^ *- /, ""); print }' \
    "$jobs/gitlab.yml" >script && cat script && bash script; echo "exit $?"
echo "== its code quality" && cat gl-code-quality-report.json
echo "== its tests" && cat check.xml
