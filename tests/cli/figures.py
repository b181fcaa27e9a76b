# SPDX-License-Identifier: Apache-2.0
"""The figures of JSON documents, a line per object and per row, so that a golden file can hold the
numbers of many runs and a difference shows which number changed.

figures.py [LEFT_OUT...] < documents

LEFT_OUT are keys whose values are not shown: sentences, names of files, rows that are all alike.
"""
import json
import sys


def short(value):
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def show(path, value, left_out):
    if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        keys = None
        for row in value:
            row = {k: v for k, v in row.items() if k not in left_out}
            if keys != list(row):
                keys = list(row)
                print(f"{path}[]: {' '.join(keys)}")
            print("  " + " ".join(short(v) for v in row.values()))
    elif isinstance(value, dict):
        value = {k: v for k, v in value.items() if k not in left_out}
        flat = {k: v for k, v in value.items() if not isinstance(v, (dict, list)) or not v}
        if flat:
            print(f"{path}: " + " ".join(f"{k}={short(v)}" for k, v in flat.items()))
        for k, v in value.items():
            if k not in flat:
                show(f"{path}.{k}" if path else k, v, left_out)
    else:
        print(f"{path}: {short(value)}")


text = sys.stdin.read().strip()
while text:
    document, end = json.JSONDecoder().raw_decode(text)
    show("", document, set(sys.argv[1:]))
    text = text[end:].lstrip()
