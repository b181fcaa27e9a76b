# names of an input at the start of a line are no commands to a CI runner
mkdir job
sed 's/"name":"[^"]*gemm[^"]*"/"name":"::error::x.json##[group]"/; s/gemm/::error::stop ##[add-mask]/g' ok_two_ranks/rank0.json >'job/::warning::rank0.json'
sed 's/gemm/::error::stop ##[add-mask]/g' ok_two_ranks/rank1.json >'job/##[error]rank1.json'
for format in text markdown; do
    "$INQ" analyze job -v -f $format >$format.out
    "$INQ" info job >>$format.out
    grep -cE '^[[:space:]]*::|##\[' $format.out
    grep -cE ': :|## \[' $format.out
done
