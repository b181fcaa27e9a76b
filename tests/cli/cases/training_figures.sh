# events in training output with noise: jumps, courses left, slow stretches and periods, norms
cat >make.py <<'P'
import math, random, sys


def write(spec, out):
    spec = dict(pair.split("=") for pair in spec.split(","))
    get = lambda key, usual: float(spec.get(key, usual))
    noise = random.Random(int(get("seed", 1)))
    normal = lambda: sum(noise.random() for _ in range(12)) - 6.0
    n, at, length = int(get("n", 400)), int(get("at", 200)), int(get("len", 1000000))
    heavy, floor, attempts = get("heavy", 0), get("floor", 2), int(get("attempts", 1))
    for attempt in range(attempts):
        for i in range(1, n + 1):
            inside = at <= i < at + length
            z = normal() * (1 + 9 * heavy * (noise.random() < 0.02))
            loss = floor + get("falls", 0) * math.exp(-i / 100.0) + get("sigma", 0.02) * z
            loss += get("rise", 0) * max(0, i - at) / n if inside else 0.0
            loss *= get("loss", 1) if inside else 1.0
            again = get("often", 0) and i % int(get("often", 0)) == 0
            loss *= 1.5 if again else 1.0
            time = (1 + get("time_sigma", 0.01) * abs(normal())) * (get("time", 1) if inside else 1.0)
            period = get("period", 0)
            time *= get("long", 3) if period and inside and i % int(period) == 0 else 1.0
            time *= 1 + get("creep", 0) * max(0, i - at) / n
            rate = 1000 * get("rate", 1) / time if inside else 1000 / time
            norm = (1 + 0.2 * abs(normal())) * (get("norm", 1) if inside else 1.0)
            if get("gap", 0) and at <= i < at + get("gap", 0):
                continue
            digits = int(get("digits", 4))
            print(f"step: {i} loss: {loss:.{digits}f}" +
                  (f" step_time: {time:.{digits}f}" if get("times", 1) else "") +
                  (f" grad_norm: {norm:.{digits - 1}f}" if get("norms", 1) else "") +
                  (f" samples/sec: {rate:.{max(digits - 2, 0)}f}" if get("rates", 0) else ""), file=out)


for spec in sys.argv[1:]:
    with open(f"{spec}.log", "w") as out:
        write(spec, out)
P
set -- sigma=0.02 heavy=1,n=900 loss=1.3,len=1 loss=1.5,len=7 loss=1.4,len=60 loss=1.5 \
    rise=2 rise=2,at=30 rise=2,at=40 rise=2,at=50 rise=2,at=60 rise=2,at=90 rise=2,at=120 \
    rise=0.8,sigma=0.05,n=700 rise=0.5,sigma=0.3,n=1500,at=600 falls=6,loss=1.4,len=3,at=60 \
    falls=6,rise=3,at=250 floor=-1,loss=1.6,len=2,seed=4 often=25 often=40,loss=3,len=1,at=210 \
    sigma=0.3,loss=2,len=40 heavy=1,sigma=0.1,loss=2,len=12,n=2500 n=320,loss=1.3,at=317 \
    n=320,loss=1.3,at=315 n=5000,sigma=0.1,loss=1.3,at=4000,len=30 n=60,loss=1.4,len=2,at=40 \
    time=1.2 time=1.2,len=40 time=1.09 time=1.13,time_sigma=0.3,n=1500,at=700 \
    time=1.12,time_sigma=1,n=4000,at=2000 creep=0.8,n=900 time=1.3,gap=60 time=1.5,rates=1 \
    time=1.5,rates=1,rate=1.5 time=1.5,rates=1,rate=1.35 time=1.5,rates=1,rate=1.32,len=80 \
    period=20 period=20,long=1.6 period=20,long=4,at=150,n=900 period=7,long=2,at=100,len=220 \
    norm=6 norm=9,len=30 norm=20,at=397 norm=20,at=396 norm=8,loss=1.5 norm=8,loss=1.5,len=30 \
    attempts=3,n=120,at=60,time=1.3 attempts=2,n=150,loss=1.5,len=2,at=100 time=1.4,times=0,rates=1
for spec; do # with few digits, so that values are equal, and meet what they are compared with
    set -- "$@" "$spec,digits=1"
done
python3 make.py "$@"
for spec; do
    "$INQ" analyze "$spec.log" -q -f json --only training
done | python3 "$SAMPLES/../tests/cli/figures.py" schema tool inputs options verdict findings account \
    file what sampled steps_printed steps_inferred
