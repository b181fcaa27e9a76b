# the table of events in training output: none, one, as many as are shown, more
cat >make.py <<'P'
import random, sys
n, every = int(sys.argv[1]), int(sys.argv[2])
noise = random.Random(n * 1000 + every)
level = 3.0
for i in range(1, n + 1):
    if every and i % every == 0:
        level = 3.0 if level > 3.0 else 6.0
    time = (1 + 0.01 * noise.random()) * (2.5 if every and i // every % 3 == 1 else 1)
    bad = "nan" if every and i == n else f"{level + 0.02 * noise.random():.4f}"
    print(f"step: {i} loss: {bad} step_time: {time:.4f} grad_norm: {1 + noise.random() * 0.1:.3f}")
P
for shape in "100 0" "200 100" "600 100" "1200 60" "4000 50"; do
    # shellcheck disable=SC2086
    python3 make.py $shape >train.log
    echo "==== $shape"
    "$INQ" analyze train.log -q -v
    echo "---- as Markdown"
    "$INQ" analyze train.log -q -f markdown | sed -n '/^#.*[Tt]raining/,$p'
done
