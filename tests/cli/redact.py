#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--redact leaves no name, and changes nothing else.

    redact.py INQUEST SOURCE_DIR

Runs with hosts, users, paths, kernels and modules that nothing else is called, and the real sets where
they are, are written in every format. No name that the map lists may be in any of them, neither as it is
nor as the format escapes it; and the JSON document with its tokens turned back into names is the one that
is written without --redact."""
import csv
import gzip
import html
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

inquest, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
shared = os.environ.get("INQ_SHARED_DATA", os.path.join(source, "..", "shared", "data"))
FEATURES = subprocess.run([inquest, "--version"], capture_output=True, check=True, text=True).stdout
USER, HOST, OTHER_HOST = "zelda.quince", "frobnitz-17", "gribble-29"
LOG = f"""2026-01-15 08:00:00 {HOST} trainer[4711]: loading /home/{USER}/wombat_ckpt/shard-3.pt
{HOST}:4711:4790 [3] NCCL INFO comm 0x5581 rank 3 nranks 4 - Init COMPLETE
[rank3]:[E ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=17, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.
[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/{USER}/wombat_src/train.py", line 31, in main
[rank3]: torch.distributed.DistBackendError: socket to 10.77.3.201<45678> closed by {USER}@{HOST}
"""
problems = []


def run(*arguments, statuses=(0,)):
    done = subprocess.run([inquest, *arguments], capture_output=True, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    if done.returncode not in statuses:
        problems.append(f"{' '.join(arguments)}: exit status {done.returncode}: {done.stderr.decode()[:300]}")
    return done.stdout.decode("utf-8", "replace")


def read_map(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        return list(csv.DictReader(file))


def ways(name):
    """A name as formats escape it."""
    escaped = json.dumps(name, ensure_ascii=False)[1:-1]
    return {name, escaped, html.escape(name), html.escape(escaped), name.replace('"', '""'),
            re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", name), escaped.replace("<", "\\u003c")}


def database(path):
    with sqlite3.connect(path) as connection:
        return "\n".join(connection.iterdump())


def outputs(folder, work, key):
    """What every format says of the run, by format."""
    redact = ("analyze", "-q", "--redact-key", key, folder)
    texts = {"info": run("info", "-q", "-v", "--redact-key", key, folder),
             "info json": run("info", "-q", "-f", "json", "--redact-key", key, folder)}
    for name in ("text", "json", "markdown", "perfetto", "html"):
        if name == "html" and not re.search("^html: *yes", FEATURES, re.M):
            continue
        more = ("-v",) if name == "text" else ()
        out = os.path.join(work, "redacted." + name)
        if os.path.exists(out):
            os.unlink(out)
        run(*redact, "-f", name, "-o", out, *more)
        parts = [path for path in (out, *(os.path.join(work, f"redacted.{i}.{name}") for i in range(1, 9)))
                 if os.path.exists(path)]
        texts[name] = "".join(open(path, encoding="utf-8").read() for path in parts)
        for path in parts:
            os.unlink(path)
    for row in csv.DictReader(run("analyze", "--table", "list").splitlines()):
        if row["column"] == "":
            texts["csv " + row["table"]] = run(*redact, "--table", row["table"])
    if re.search("^sqlite: *yes", FEATURES, re.M):
        path = os.path.join(work, "redacted.sqlite")
        run(*redact, "-o", path)
        texts["sqlite"] = database(path)
        os.unlink(path)
    return texts


def partial_outputs(folder, work, key):
    """What partials that were redacted say by their names, their bytes, and in reports."""
    partials = os.path.join(work, "partials")
    shutil.rmtree(partials, ignore_errors=True)
    run("ingest", "-q", "--redact-key", key, folder, "-o", partials)
    files = [os.path.join(where, name) for where, _, names in os.walk(partials) for name in names]
    texts = {"partials' paths": "\n".join(os.path.relpath(path, partials) for path in files),
             "partials' bytes": "".join(open(path, "rb").read().decode("latin-1") for path in files)}
    if files:
        for name in ("text", "json", "markdown", "perfetto"):  # which is of one job
            texts["partials " + name] = run("analyze", "-q", "-f", name, partials, statuses=(0, 2))
        texts["partials info"] = run("info", "-q", "-v", partials)
        for table in ("files", "kernels", "ranks", "evidence"):
            texts["partials csv " + table] = run("analyze", "-q", "--table", table, partials)
    return texts


def is_telling(row):
    """Parts of paths may be any word; a kernel of one word may be an operator."""
    return len(row["name"]) >= 8 or row["kind"] in ("host", "user")


def back(text, rows):
    """The document with names for tokens, the longest token first."""
    for row in sorted(rows, key=lambda row: -len(row["token"])):
        text = text.replace(row["token"], json.dumps(row["name"], ensure_ascii=False)[1:-1])
    return text


def in_order(value):
    """Rows that take the same time stand in the order of their names, which tokens change."""
    if isinstance(value, dict):
        return {key: in_order(item) for key, item in value.items()}
    if isinstance(value, list):
        rows = [in_order(item) for item in value]
        if rows and all(isinstance(row, dict) and {"name", "total_ns"} <= row.keys() for row in rows):
            rows.sort(key=lambda row: (-row["total_ns"], row["name"]))
        return rows
    return value


def same_numbers(folder, what, key, rows):
    plain = in_order(json.loads(run("analyze", "-q", "-f", "json", folder)))
    hidden = in_order(json.loads(back(run("analyze", "-q", "-f", "json", "--redact-key", key, folder), rows)))
    for document in [hidden, *hidden.get("runs", [])]:
        document.get("options", {}).pop("redacted", None)
    if plain != hidden:
        one, two = (json.dumps(doc, indent=1, sort_keys=True).splitlines() for doc in (plain, hidden))
        first = next((pair for pair in zip(one, two) if pair[0] != pair[1]), ("", ""))
        problems.append(f"{what}: not the same but for its names: {first[0].strip()} is {first[1].strip()}")


def hold(folder, work, what, names=(), numbers=True):
    key, kept = os.path.join(work, "key"), os.path.join(work, "map.csv")
    with open(key, "wb") as file:
        file.write(bytes(range(32)))
    run("analyze", "-q", "-f", "json", "-v", "--redact-key", key, "--redact-map", kept, folder)
    rows = read_map(kept)
    listed = {row["name"] for row in rows}
    missing = [name for name in names if not any(name in other for other in listed)]
    if missing:
        problems.append(f"{what}: no token for {', '.join(missing)}")
    secrets = {way for row in rows if is_telling(row) for way in ways(row["name"])} | set(names)
    for where, text in {**outputs(folder, work, key), **partial_outputs(folder, work, key)}.items():
        found = sorted(name for name in secrets if name in text)
        problems.extend(f"{what}, {where}: still has {name}" for name in found[:5])
    if numbers:
        same_numbers(folder, what, key, rows)
    return rows


def same_from_partials(folder, work, key):
    """A report of redacted partials is that of the files but for its names."""
    partials, kept = os.path.join(work, "partials"), os.path.join(work, "map.csv")
    shutil.rmtree(partials, ignore_errors=True)
    run("ingest", "-q", "--redact-key", key, "--redact-map", kept, folder, "-o", partials)
    plain = json.loads(run("analyze", "-q", "-f", "json", folder))
    hidden = json.loads(back(run("analyze", "-q", "-f", "json", partials), read_map(kept)))
    for part in ("verdict", "findings", "account", "ranks", "collectives", "kernels", "critical_path", "steps"):
        if in_order(plain[part]) != in_order(hidden[part]):
            problems.append(f"{folder}: from redacted partials another {part}")


def partials_of_all(folder, work, key):
    """The same bytes whatever the threads; a host of one file is hidden in all; no share by itself."""
    trees = []
    for jobs in ("1", "4"):
        partials = os.path.join(work, "partials" + jobs)
        run("ingest", "-q", "-j", jobs, "--redact-key", key, folder, "-o", partials)
        trees.append({os.path.relpath(os.path.join(where, name), partials):
                      open(os.path.join(where, name), "rb").read()
                      for where, _, names in os.walk(partials) for name in names})
    if trees[0] != trees[1] or len(trees[0]) != 4:
        problems.append(f"redacted partials by -j: {sorted(trees[0])}, {sorted(trees[1])}")
    run("ingest", "-q", "--redact", "--share", "0/2", folder, "-o", partials, statuses=(2,))


def own_run(work):
    """A sample where a user works, with a host, modules and a line of source of its own, and its log."""
    folder = os.path.join(work, "home", USER, "wombat_runs", "quokka7")
    shutil.copytree(os.path.join(source, "sample-traces", "late_host_dp4"), folder)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith(".gz"):
            text = gzip.decompress(open(path, "rb").read()).decode()
            if "rank-0" in name:  # a host that another file alone names as such
                text = text.replace("Optimizer.zero_grad#AdamW.zero_grad", f"send to {OTHER_HOST}")
            text = text.replace("node-00", OTHER_HOST if "rank-3" in name else HOST).replace("GeluCUDAKernelImpl", "WombatSecretGelu")
            with open(path, "wb") as file:
                file.write(gzip.compress(text.encode(), mtime=0))
    with open(os.path.join(folder, f"{HOST}-rank3.log"), "w", encoding="utf-8") as file:
        file.write(LOG)
    return folder


def keys(folder, work):
    """One secret, one token; another secret or none, another token."""
    tokens = []
    for secret in (b"a secret", b"a secret", b"another one", None, None):
        path, kept = os.path.join(work, "key"), os.path.join(work, "map.csv")
        with open(path, "wb") as file:
            file.write(secret or b"")
        run("analyze", "-q", "--redact-map", kept, folder, *(("--redact-key", path) if secret else ()))
        tokens.append(next(row["token"] for row in read_map(kept) if row["name"] == HOST))
    if tokens[0] != tokens[1] or len(set(tokens)) != 4:
        problems.append(f"tokens by key: {tokens}")
    with open(os.path.join(work, "key"), "wb"):
        pass
    run("analyze", "-q", "--redact-key", os.path.join(work, "key"), folder, statuses=(2,))


def main():
    with tempfile.TemporaryDirectory() as work:
        folder = own_run(work)
        hold(folder, work, "own run", (USER, HOST, OTHER_HOST, "wombat", "quokka7", "WombatSecretGelu", "10.77.3.201"))
        partials_of_all(folder, work, os.path.join(work, "key"))
        keys(folder, work)
        samples = os.path.join(source, "sample-traces")
        for name in ("slow_gpu_dp8", "pipeline_pp4_long_last", "damaged_dp4"):
            hold(os.path.join(samples, name), work, name)
            same_from_partials(os.path.join(samples, name), work, os.path.join(work, "key"))
        for name in ("kineto/torchrec_4", "kineto/edge", "flight/lock_gil_1st", "primus/pp8"):
            if os.path.isdir(os.path.join(shared, name)):
                hold(os.path.join(shared, name), work, name)
    print("\n".join(problems[:40]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
