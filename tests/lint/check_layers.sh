#!/usr/bin/env bash
# Includes point down only, and each third-party header has one door.   check_layers.sh SOURCE_DIR
set -euo pipefail
cd "$1"

bad=0
complain() {
    echo "$1"
    bad=1
}

# folder: the folders whose headers it may include
rules='base:base
trace:base trace
ingest:base trace ingest
graph:base trace graph
analysis:base trace graph analysis
report:base trace graph analysis report replay
cli:base trace ingest graph analysis report cli replay'
while IFS=: read -r folder allowed; do
    pattern=$(echo "$allowed" | tr ' ' '|')
    while IFS= read -r line; do
        complain "not allowed from $folder: $line"
    done < <(grep -rnE '#include "(base|trace|ingest|graph|analysis|report|cli|replay)/' \
        "analyzer/$folder" 2>/dev/null | grep -vE "#include \"($pattern)/")
done <<<"$rules"
while IFS= read -r line; do
    complain "not allowed from replay: $line"
done < <(grep -rnE '#include "(ingest|report|cli)/' replay)

# header: the only files that may include it
door() {
    while IFS= read -r line; do
        complain "outside its door ($2): $line"
    done < <(grep -rnE "#include [<\"]$1" analyzer replay include | grep -vE "^($2)")
}
door 'zlib\.h' 'analyzer/ingest/source/gzip|analyzer/base/gzip_out'
door '(isa-l|igzip)' 'analyzer/ingest/source/gzip'
door '(zstd|lz4|lzma|bzlib)' 'analyzer/ingest/(source/frames|partial/write)\.c'
door 'cjson/' 'analyzer/base/json\.c'
door 'sqlite3\.h' 'analyzer/ingest/nsys/|analyzer/report/render/sqlite/'
door 'mpi\.h' 'analyzer/cli/mpi/'
door 'omp\.h' 'analyzer/base/par\.c'
door '(cuda|cublas|nccl)' 'replay/cuda/'
if grep -rnE '#pragma omp' analyzer replay include | grep -v '^analyzer/base/par\.c'; then
    complain "OpenMP pragmas belong in analyzer/base/par.c"
fi
exit $bad
