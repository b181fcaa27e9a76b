# archives are walked like folders, whatever they are compressed with; "-" is standard input
tar -cf ranks.tar ok_two_ranks/rank0.json ok_two_ranks/rank1.json
gzip -n <ranks.tar >ranks.tar.gz
gzip -n <ranks.tar.gz >twice
for file in ranks.tar ranks.tar.gz twice; do
    "$INQ" info "$file"
done
"$INQ" info - <ranks.tar.gz
gzip -ndc <ranks.tar.gz | head -c 6000 >cut.tar
"$INQ" info cut.tar
# what archives need room for goes where TMPDIR says
TMPDIR=nowhere "$INQ" info ranks.tar.gz | sed "s/ *[0-9]*  an archive:/: an archive:/"
"$INQ" info - </dev/null
