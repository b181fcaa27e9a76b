# a launch inside a synchronize of the same thread: a report and all that rests on the graph come out
"$INQ" analyze bad_order --only critical_path
"$INQ" analyze bad_order -f json | grep -E "contradictions|unavailable"
"$INQ" fix bad_order
"$INQ" fix bad_order -f json | grep contradictions
"$INQ" replay bad_order -q | grep -c "simulated"
"$INQ" compare bad_order bad_order -q | head -n 1
"$INQ" check bad_order --baseline base.json --update --force
"$INQ" check bad_order --baseline base.json -q | tail -n 1
"$INQ" analyze bad_order ok_two_ranks -f json | grep -E "\"(schema|name|unavailable)\""
