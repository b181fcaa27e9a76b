# A run without steps whose ops wait for each other in a circle: what was recorded is not moved by
# how far the cut graph is off. Ranks have the numbers of the record, also where some are missing.
rank() {
    cat >"$1" <<JSON
{"distributedInfo": {"rank": $2, "world_size": 8}, "traceEvents": [
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 1, "tid": 1,
  "ts": 100, "dur": 500, "args": {"correlation": 2}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
  "ts": 150, "dur": 10, "args": {"correlation": 1}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7,
  "ts": 170, "dur": $3, "args": {"device": 0, "stream": 7, "correlation": 1}}]}
JSON
}
mkdir circle part
rank circle/rank4.json 4 300
rank part/rank4.json 4 300
rank part/rank6.json 6 200
"$INQ" replay circle --engine sim
"$INQ" fix circle | grep -A 4 "^Base"
"$INQ" replay part --engine sim -o executed.trace.json | tail -n 3
"$INQ" info executed.trace.json | grep -A 9 "^Ranks"
# how small a partial is depends on the compressor of the build
"$INQ" ingest circle -o partials | sed "s/; [0-9]* B/; N B/"
"$INQ" ingest circle -o partials | sed "s/; [0-9]* B/; N B/"
"$INQ" ingest circle -o redacted --redact | sed "s/;.*//"
