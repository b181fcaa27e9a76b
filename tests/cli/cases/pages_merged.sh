# html: of steps with too many ops to draw those that share a pixel are merged, and all of the trace are counted
spec=dp=2,pp=2,steps=8,layers=8,micro_batches=40,seed=3,lean=1,cpu_ops=0,gz=0
"$INQ" synth $spec,fault=late_host:rank=1:mode=pause:from=4:to=4:delay=20ms,fault=slow_gpu:rank=2:factor=1.4 -q -o run >/dev/null
"$INQ" analyze run -q -o page.html
python3 - <<'P'
import glob, hashlib, json, re
data = re.search(r'<script type="application/json" id="inq-timeline">(.*?)</script>', open("page.html").read(), re.S)
timeline, = json.loads(data.group(1))
recorded = {}
for path in glob.glob("run/*.pt.trace.json"):
    trace = json.load(open(path))
    recorded[trace["distributedInfo"]["rank"]] = [
        (f"stream {e['tid']}", round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000))
        for e in trace["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    base = trace.get("baseTimeNanoseconds", 0)
styles, origin = timeline["styles"], int(timeline["origin_ns"]) - base
for window in timeline["windows"]:
    begins, ends = origin + window["start_ns"], origin + window["end_ns"]
    print(f"==== step {window['step']}, {window['pixel_ns']} ns a pixel")
    for row in window["rows"]:
        ops = {}
        for stream, start, end in recorded[row["rank"]]:
            ops[stream] = ops.get(stream, 0) + (start < ends and end > begins)
        for lane in row["lanes"]:
            spans = [lane["spans"][i:i + 4] for i in range(0, len(lane["spans"]), 4)]
            merged = [(styles[style]["kind"], dur, n) for _, dur, style, n in spans if styles[style].get("merged")]
            n = len(spans) - len(merged) + sum(n for *_, n in merged)
            of = ops.get(lane["name"], "some") if not lane.get("host") else "some"
            print(f"  rank {row['rank']} {lane['name']}: {n} of {of} ops in {len(spans)} spans, "
                  f"{len(merged)} merged ({' '.join(sorted({kind for kind, *_ in merged}))}), the longest "
                  f"{max((dur for _, dur, _ in merged), default=0)} ns",
                  hashlib.sha256(json.dumps([(s[0], s[1], s[3], styles[s[2]]) for s in spans]).encode()).hexdigest()[:6])
print(len(re.findall(r'"merged":true', data.group(1))), "kinds merged")
P
