"$INQ" info bad_job
# dumps without traces: what there is, not what there is not
mkdir dumps
for rank in 0 1; do
    cat >dumps/rank_$rank.json <<JSON
{"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
 "entries": [{"frames": [], "record_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"],
  "collective_seq_id": 1, "p2p_seq_id": 0, "op_id": 1, "profiling_name": "nccl:all_reduce",
  "time_created_ns": 1700000000000000000, "input_sizes": [[1]], "input_dtypes": ["Float"],
  "output_sizes": [[1]], "output_dtypes": ["Float"], "state": "completed", "is_p2p": false,
  "retired": true, "timeout_ms": 600000}]}
JSON
done
"$INQ" info dumps | head -n 1
