# real traces, op tables, dumps and logs, whose answers ../shared/data/README.md tells
cd "$INQ_SHARED_DATA"
python3 "$SAMPLES/../tests/cli/sweep.py" "$INQ" traces kineto/{dlrm_8ranks,torchrec_*,resnet18_ddp,megatron_tp2} kineto/edge/* \
    chrome/{big,google_cloud}_trace.json chrome/{byteps_unterminated.json.gz,nestable_async.json} flight/* primus/pp8 \
    whatif/ST/trace-ST.csv.gz deepseek xplane contradictions logs/*
