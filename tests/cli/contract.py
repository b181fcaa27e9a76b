#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JSON documents are what `inquest schema` says of them, and the manual says the same.

    contract.py INQUEST SOURCE_DIR [--update]

Every document that golden files hold, and those of many commands over samples, damaged runs and real
sets, is validated: a key that has no definition, a value of another type, a null without a meaning or a
required key that is missing is a problem. Every key that has a definition is written by some document.
inquest-json(5) holds the same keys (--update rewrites it). Where python3-jsonschema is installed it
must agree that the schemas are schemas and that the documents are valid.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

inquest, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
update = "--update" in sys.argv[3:]
shared = os.environ.get("INQ_SHARED_DATA", os.path.join(source, "..", "shared", "data"))
problems, seen, counted = [], set(), {}
# whole documents of one contract inside another
WITHIN = {"inquest-report-set/1.runs[]": "inquest-report/1", "inquest-check-set/1.results[]": "inquest-check/1",
          "inquest-lint-set/1.files[]": "inquest-lint/1"}
TYPES = {"string": str, "object": dict, "array": list, "boolean": bool, "null": type(None)}
# What needs a GPU, a clock that was set, an analysis that fails, or a reader that records modules or
# source lines.
UNSEEN = {"inquest-report/1.inputs.clock[].pieces", "inquest-info/1.jobs[].clock[].pieces",
          "inquest-replay/1.executed.reductions_verified", "inquest-replay/1.executed.virtual_devices",
          "inquest-replay/1.executed.peak_bytes",
          "inquest-report/1.blame", "inquest-report/1.verdict.without",
          "inquest-report/1.kernels.by_module", "inquest-report/1.kernels.by_source"}


def run(*arguments, statuses=(0,), cwd=None):
    done = subprocess.run([inquest, *arguments], capture_output=True, check=False, cwd=cwd,
                          env={**os.environ, "LC_ALL": "C"})
    if done.returncode not in statuses:
        problems.append(f"{' '.join(arguments)}: exit status {done.returncode}: {done.stderr.decode()[:300]}")
    return done


names = [line.split()[0] for line in run("schema").stdout.decode().splitlines()]
schemas = {name: json.loads(run("schema", name).stdout) for name in names}


# ---- validation ----------------------------------------------------------------------------------

def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def complaints(schema, value, path):
    """What is wrong with a value, and the keys that it has."""
    path = WITHIN.get(path, path)
    if "anyOf" in schema:
        tries = [complaints(part, value, path) for part in schema["anyOf"]]
        return min(tries, key=lambda found: len(found[0]))
    wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(is_type(value, name) for name in wanted):
        return [f"{path} is {json.dumps(value)[:60]}, not {' or '.join(wanted)}"], set()
    if "enum" in schema and value not in schema["enum"]:
        return [f"{path} is {value!r}, not one of {', '.join(map(str, schema['enum']))}"], set()
    found, keys = [], set()
    inner = []
    if isinstance(value, list):
        inner = [(schema["items"], item, path + "[]") for item in value]
    elif isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        found += [f"{path}.{key} has no definition" for key in value if key not in known]
        found += [f"{path}.{key} is missing" for key in schema["required"] if key not in value]
        keys = {f"{path}.{key}" for key in value if key in known}
        inner = [(known[key], item, f"{path}.{key}") for key, item in value.items() if key in known]
    elif isinstance(value, dict):
        inner = [(schema["additionalProperties"], item, path + "{}") for item in value.values()]
    for part in inner:
        more, below = complaints(*part)
        found += more
        keys |= below
    return found, keys


def validate(document, what):
    name = document.get("schema") if isinstance(document, dict) else None
    if name not in schemas:
        if isinstance(name, str) and name.startswith("inquest-"):
            problems.append(f"{what}: there is no schema of {name}")
        return
    found, keys = complaints(schemas[name], document, name)
    seen.update(keys)
    counted[name] = counted.get(name, 0) + 1
    problems.extend(f"{what}: {text}" for text in list(dict.fromkeys(found))[:5])
    if jsonschema is not None and not found:
        error = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(schemas[name]).iter_errors(document))
        if error is not None:
            problems.append(f"{what}: by jsonschema: {error.message[:200]}")


def documents(text, what):
    """All documents that begin at the start of a line."""
    decoder, at = json.JSONDecoder(), 0
    while (match := re.compile(r"^\{(?=\s*\"schema\": ?\"inquest-)", re.M).search(text, at)) is not None:
        try:
            document, at = decoder.raw_decode(text, match.start())
        except json.JSONDecodeError:  # the case shows a part of it
            at = match.start() + 1
            continue
        validate(document, what)


def check(*arguments, statuses=(0, 3), cwd=None):
    done = run(*arguments, statuses=statuses, cwd=cwd)
    if done.stdout.strip():
        validate(json.loads(done.stdout), " ".join(arguments))
    for line in done.stderr.decode().splitlines():
        if line.startswith("{"):
            validate(json.loads(line), " ".join(arguments))


# ---- what is validated ---------------------------------------------------------------------------

def runs_of(folder, *parts):
    path = os.path.join(folder, *parts)
    return [path] if os.path.exists(path) else []


def folders(path):
    return sorted(e.path for e in os.scandir(path) if e.is_dir()) if os.path.isdir(path) else []


def analyses(work):
    samples = [path for path in folders(os.path.join(source, "sample-traces")) if not path.endswith("/run")]
    cases = folders(os.path.join(source, "tests/data")) + folders(os.path.join(source, "tests/data/core"))
    cases = [path for path in cases if not path.endswith(("/core", "/bad_order"))]
    real = folders(os.path.join(shared, "kineto")) + folders(os.path.join(shared, "flight"))
    real += [e.path for e in os.scandir(os.path.join(shared, "logs"))] if os.path.isdir(shared) else []
    for part in ("primus", "whatif", "xplane", "nsys"):
        real += runs_of(shared, part)
    for path in samples + cases + real:
        for command in ("analyze", "info"):
            check(command, path, "-q", "-f", "json", statuses=(0, 1))
    for options in (["-v"], ["--method", "hta"], ["--method", "tracelens"], ["--only", "kernels"],
                    ["--fail-on", "low"]):
        check("analyze", samples[-1], "-q", "-f", "json", *options)
    pipeline = next(path for path in samples if "pipeline" in path)
    check("analyze", pipeline, "-q", "-f", "json", "--what-if", "stage=1:factor=0.5", "--what-if", "rank=9:fix")
    odd_runs(work)
    check("analyze", *samples[:2], "-q", "-f", "json")
    for run_of_one in (samples[:1], samples[:2]):
        check("analyze", *run_of_one, "-q", "-f", "json", "--redact")
    logs = os.path.join(source, "tests/bench/failure_corpus")
    for path in sorted(e.path for e in os.scandir(logs)):
        check("analyze", path, "-q", "-f", "json", statuses=(0, 1))
    with open(os.path.join(work, "training.log"), "w", encoding="utf-8") as file:
        for step in range(1, 200):
            file.write(f"step {step} loss {5.0 - step / 100 if step != 120 else 9.0:.4f} "
                       f"grad_norm 1.2 step_time {0.5 if step < 150 else 0.9}s\n")
    check("analyze", os.path.join(work, "training.log"), "-q", "-f", "json", statuses=(0, 1))
    return samples


def odd_runs(work):
    """A rank whose file cannot be read; a hang with stacks; a reduced partial."""
    run("synth", "dp=2,steps=8,lean=1,seed=3", "-q", "-o", os.path.join(work, "to_reduce"))
    small = os.path.join(work, "reduced")
    run("ingest", os.path.join(work, "to_reduce"), "-o", small, "--reduced", "-q")
    folder = os.path.join(work, "unread")
    run("synth", "dp=4,steps=4,lean=1,seed=3", "-q", "-o", folder)
    with open(os.path.join(folder, "rank-0.pt.trace.json.gz"), "wb") as file:
        file.write(bytes(4096))
    dumps = os.path.join(work, "hang")
    os.mkdir(dumps)
    with open(os.path.join(source, "tests/fuzz/seeds/flight/dump.json"), encoding="utf-8") as file:
        dump = json.load(file)
    for rank in range(2):
        with open(os.path.join(dumps, f"_dump_{rank}"), "w", encoding="utf-8") as file:
            json.dump(dump, file)
        dump["entries"] = dump["entries"][:1]
    for path in (folder, dumps, small):
        for command in ("analyze", "info"):
            check(command, path, "-q", "-f", "json")


def questions(samples, work):
    """The commands other than analyze and info."""
    one, pipeline = samples[-1], next(path for path in samples if "pipeline" in path)
    healthy = next(path for path in samples if "healthy" in path)
    for path in samples:
        check("fix", path, "-q", "-f", "json", statuses=(0, 1))
        check("compare", healthy, path, "-q", "-f", "json", statuses=(0, 1))
    check("compare", pipeline, pipeline, "-q", "-f", "json")
    check("compare", one, healthy, "-q", "-f", "json")
    small = os.path.join(work, "reduced")
    check("compare", small, small, "-q", "-f", "json")
    fast = ["--scale", "0.02"]
    for repeats in ("2", "6"):
        check("fix", pipeline, "-q", "-f", "json", "--validate", "host", *fast, "--repeats", repeats)
        check("replay", pipeline, "-q", "-f", "json", "-v", *fast, "--repeats", repeats)
    check("fix", "--make", "1f1b", "-p", "2", "-m", "2", "--fix", "schedule:zb-h1", "-f", "json")
    check("replay", "--make", "1f1b", "-p", "2", "-m", "2", "--engine", "sim", "-f", "json", "-v")
    baseline = os.path.join(work, "run.json")
    for path in (healthy, pipeline):
        check("check", path, "-q", "--force", "--baseline", baseline, "--update", "-f", "json",
              "--tolerance", "4%", "--rule", "worst_wait=off")
        with open(baseline, encoding="utf-8") as file:
            validate(json.load(file), "baseline of " + path)
        check("check", path, one, "-q", "--baseline", baseline, "-f", "json", statuses=(0, 1, 3))
        check("check", path, "-q", "--baseline", baseline, "-f", "json")
    check("check", small, "-q", "--force", "--baseline", os.path.join(work, "small.json"), "--update", "-f", "json")
    for fault, update in (("", ["--update"]), ("", ["--update", "--add"]), (",fault=slow_gpu:rank=1:factor=1.4", [])):
        path = os.path.join(work, f"run{len(update)}")
        run("synth", f"dp=4,steps=8,lean=1,seed={len(update)}{fault}", "-q", "-o", path)
        check("check", path, "-q", "--force", "--baseline", baseline, *update, "-f", "json")
    with open(baseline, encoding="utf-8") as file:
        validate(json.load(file), "baseline of runs")
    schedules(pipeline, work)
    run("synth", "dp=2,pp=2,steps=2,lean=1,fault=slow_link:host=0", "-o", os.path.join(work, "synth"),
        statuses=(0, 1, 2))
    for folder in [work, *samples]:
        for base, _, files in os.walk(folder):
            for name in files:
                if name == "truth.json":
                    with open(os.path.join(base, name), encoding="utf-8") as file:
                        validate(json.load(file), name)
    check("analyze", os.path.join(work, "nothing"), "-f", "json", statuses=(1,))


def schedules(pipeline, work):
    make = ["--make", "1f1b", "-p", "4", "-m", "8", "--times", "2,1,1,0.1"]
    check("schedule", "show", *make, "-f", "json")
    check("schedule", "show", "--make", "seq1f1b", "-p", "2", "-m", "2", "-f", "json")
    check("schedule", "show", *make, "--at", "12.5ms", "-f", "json")
    check("schedule", "show", pipeline, "-q", "-f", "json")
    check("schedule", "compare", "1f1b", "zb-h1", "no-such", "-p", "4", "-m", "8", "--times", "2,1,1,0.1",
          "-f", "json", statuses=(0, 1, 2))
    check("schedule", "compare", "1f1b", "chimera", "dualpipe", "-p", "3", "-m", "8", "--times", "2,1,1,0.1",
          "-f", "json", statuses=(0, 1, 2))
    check("schedule", "search", "-p", "4", "-m", "8", "--sizes", "1:2,2,1/4:6,6,3", "--memory-limit", "20",
          "-f", "json")
    folder = os.path.join(work, "schedules")
    os.mkdir(folder)
    good, bad = os.path.join(folder, "good.csv"), os.path.join(folder, "hangs.csv")
    run("schedule", "make", "--make", "1f1b", "-p", "2", "-m", "2", "--comms", "-o", good)
    with open(good, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(",") for line in file]
    sends = [i for i, cell in enumerate(rows[0]) if "SEND_F" in cell]
    receives = [i for i, cell in enumerate(rows[0]) if "RECV_B" in cell]
    first, second = sends[-1], receives[0]
    rows[0][first], rows[0][second] = rows[0][second], rows[0][first]
    with open(bad, "w", encoding="utf-8") as file:
        file.write("".join(",".join(row) + "\n" for row in rows))
    check("schedule", "lint", good, "-f", "json")
    check("schedule", "lint", bad, "--grouping", "none", "-f", "json")
    check("schedule", "lint", folder, "--grouping", "none", "-f", "json")
    baseline = os.path.join(work, "schedule.json")
    check("check", good, "--times", "2,1,1,0.1/2,2,1", "--baseline", baseline, "--update", "-f", "json")
    with open(baseline, encoding="utf-8") as file:
        validate(json.load(file), "baseline of a schedule")
    check("check", bad, "--times", "2,1,1,0.1/2,2,1", "--grouping", "none", "--baseline", baseline, "-f", "json",
          statuses=(0, 1, 3))
    os.mkdir(os.path.join(work, "baselines"))
    for options in (["--update"], []):
        check("check", folder, "--baseline", os.path.join(work, "baselines"), *options, "-f", "json")
    check("check", *make, "--times", pipeline, "-q", "--baseline", baseline, "--update", "-f", "json")
    with open(baseline, encoding="utf-8") as file:
        validate(json.load(file), "baseline of a schedule by a run's times")


# ---- the manual ----------------------------------------------------------------------------------

def type_of(schema):
    if "anyOf" in schema:
        schema = schema["anyOf"][-1]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = kinds[0]
    if kind == "array":
        return "array of " + type_of(schema["items"]) + "s"
    if kind == "object" and "additionalProperties" in schema:
        return type_of(schema["additionalProperties"]) + "s by name"
    return {"string": "text"}.get(kind, kind)


def escape(text):
    return text.replace("\\", "\\e").replace("'", "\\(aq")


def sentence(text):
    return text if text.endswith(".") else text + "."


def members(schema, path, out):
    """The keys of an object, those of the objects in it behind each."""
    for name, key in schema.get("properties", {}).items():
        shape = key["anyOf"][-1] if "anyOf" in key else key
        label = path + name
        unit = f", {key['x-unit']}" if "x-unit" in key else ""
        out.append(f".It Cm {label} Pq {type_of(key)}{escape(unit)}")
        notes = [key["description"]]
        words = [w for w in shape.get("enum", []) if w is not None]
        if len(words) > 1:
            notes.append("One of " + ", ".join(words))
        if "x-null" in key:
            notes.append("Null: " + key["x-null"])
        if "x-absent" in key:
            notes.append("Absent: " + key["x-absent"])
        if "anyOf" in key:
            notes.append("Or {unavailable}")
        out.extend(escape(sentence(note[0].upper() + note[1:] if i else note)) for i, note in enumerate(notes))
        suffix, inner = "", shape
        if "items" in shape:
            suffix, inner = "[]", shape["items"]
        elif "additionalProperties" in shape:
            suffix, inner = "{}", shape["additionalProperties"]
        whole = WITHIN.get(f"{out[0]}.{name}[]") if path == "" else None
        if whole is None and "properties" in inner:
            members(inner, label + suffix + ".", out)


def manual():
    text = []
    for name in names:
        schema = schemas[name]
        out = [name]
        members(schema, "", out)
        text += [f".Ss {name}", escape(sentence("Written by " + schema["description"])), ".Bl -tag -width Ds",
                 *out[1:], ".El"]
    return "\n".join(text) + "\n"


def check_manual():
    page = os.path.join(source, "analyzer/man/inquest-json.5")
    text = open(page, encoding="utf-8").read()
    head, rest = text.split('.\\" documents begin\n')
    body, tail = rest.split('.\\" documents end\n')
    if update:
        with open(page, "w", encoding="utf-8") as file:
            file.write(head + '.\\" documents begin\n' + manual() + '.\\" documents end\n' + tail)
    elif body != manual():
        problems.append("inquest-json.5 is not what `inquest schema` says: tests/cli/contract.py INQUEST . --update")


def declared(schema, path):
    path = WITHIN.get(path, path)
    for part in schema.get("anyOf", [schema]):
        for name, key in part.get("properties", {}).items():
            yield f"{path}.{name}", key
            yield from declared(key, f"{path}.{name}")
        if "items" in part:
            yield from declared(part["items"], path + "[]")
        if isinstance(part.get("additionalProperties"), dict):
            yield from declared(part["additionalProperties"], path + "{}")


def check_keys():
    keys = {}
    for name in names:
        keys.update(declared(schemas[name], name))
    for path, key in keys.items():
        if not key.get("description"):
            problems.append(f"{path} has no text")
        end = path.rsplit(".", 1)[1]
        unit = next((unit for suffix, unit in (("_ns", "ns"), ("_us", "us"), ("_pct", "%"), ("_gbps", "GB/s"))
                     if end.endswith(suffix)), None)
        if unit is not None and key.get("x-unit") != unit and "properties" not in key:
            problems.append(f"{path} is in {key.get('x-unit')}, by its name in {unit}")
    unseen = sorted(set(keys) - seen - {p for p in keys if ".unavailable" in p})
    below = lambda path: any(path == known or path.startswith(known + "[]") for known in UNSEEN)
    if os.path.isdir(shared):
        problems.extend(f"{path} is written by nothing that was tried" for path in unseen if not below(path))
    problems.extend(f"{path} is written, so it is no exception" for path in UNSEEN & seen)
    return len(keys)


def main():
    if jsonschema is None:
        print("python3-jsonschema is not installed: only the validator of this test judges")
    else:
        for schema in schemas.values():
            jsonschema.Draft202012Validator.check_schema(schema)
    cases = os.path.join(source, "tests/cli/cases")
    for name in sorted(os.listdir(cases)):
        if name.endswith((".stdout", ".stderr")):
            with open(os.path.join(cases, name), encoding="utf-8", errors="replace") as file:
                documents(file.read(), name)
    with tempfile.TemporaryDirectory() as work:
        samples = analyses(work)
        questions(samples, work)
    check_manual()
    n = check_keys()
    print(*problems, sep="\n")
    print(f"{n} keys; documents: {counted}; {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
