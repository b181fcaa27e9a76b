# names of an input that would be mark-up
for rank in 0 1; do
    sed -e 's/"name": "enumerate(DataLoader)[^"]*"/"name": "enumerate(DataLoader)<\/script><img src=x onerror=alert(1)>|`a`*b*__c__[l](http:\/\/h\/)@all #1"/' \
        -e 's/default_pg/<b>pg|`x`<\/b>/g' -e 's/NVIDIA A100-SXM4-40GB/<i>A100<\/i>/' ok_two_ranks/rank$rank.json >bad_none/rank$rank.json
done
"$INQ" analyze bad_none -q -f markdown >report.md; echo "exit $?"
grep -c 'img src' report.md
grep -oE '<[^>]*>' report.md | sort | uniq -c
grep -nE '^[^|`]*`[^`]*<' report.md
grep 'img src' report.md | head -1
grep -F 'pg' report.md | head -2
