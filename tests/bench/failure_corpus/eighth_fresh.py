# SPDX-License-Identifier: Apache-2.0
"""An eighth part: endings in words of programs, tools and services that no table names, each in a form of its
own; its truth was written before any verdict was seen."""
import json

from case import dead, healthy, log
from forms import *

A, U = "application_error", "unknown"
ANY = f"{U}|{A}|host|scheduler|network|peer_died|cpu_stall|communication_stall|driver_firmware|uneven_work"


def own(name, text, words, before=None, **more):
    dead(name, more.pop("cls", ANY), more.pop("roots", []), words, log((plain(1, 30) if before is None else before) + "\n" + text), **more)


own("z_logrus", '\n'.join(f'time="2026-03-14T10:00:{i:02d}Z" level=info msg="step done" step={i} loss={4 - i * .01:.3f}' for i in range(1, 50)) +
    '\ntime="2026-03-14T10:05:00Z" level=fatal msg="cannot renew the lock on /ckpt/LOCK" holder=job-77', ["lock"], before="")
own("z_zap", "2026-03-14T10:05:00.123Z\terror\tfeeder/feeder.go:88\tno batch for 300 s\t{\"shard\": 12}\n2026-03-14T10:05:01.000Z\tfatal\tfeeder/main.go:20\tfeeder gave up", ["batch|feeder"])
own("z_klog", "E0314 10:05:00.123456   81 controller.go:114] checkpoint volume pvc-81 is read-only, cannot go on\nF0314 10:05:01.123456   81 main.go:20] exiting", ["read-only|pvc-81|exiting"])
own("z_slf4j", "10:05:00.123 [main] ERROR c.c.feed.Feed - tokens of corpus 7 do not match its index", ["tokens|corpus|index"])
own("z_syslog_pri", "<3>Mar 14 10:05:00 n7 trainerd[811]: spool is full, dropping the job", ["spool"])
own("z_level_in_brackets", "[2026-03-14 10:05:00][CRITICAL][sched] pipeline depth 8 does not divide 61 layers, abort", ["pipeline|layers"])
own("z_pipe_form", "2026-03-14 10:05:00.000 | ERROR    | corp.guard:watch:88 - loss guard: 12 of the last 20 batches were skipped, giving up", ["skipped|guard"])
own("z_json_line", json.dumps({"ts": "2026-03-14T10:05:00Z", "lvl": "ERROR", "msg": "manifest checksum mismatch on part-0007", "job": "llm"}), ["checksum|manifest|part-0007"])
own("z_ecs_json", "\n".join(json.dumps({"@timestamp": f"2026-03-14T10:00:{i:02d}Z", "log.level": "info", "message": f"step {i} loss {4 - i * .01:.3f}"}) for i in range(1, 40)) + "\n" +
    json.dumps({"@timestamp": "2026-03-14T10:05:00Z", "log.level": "error", "message": "mirror of the tokenizer went away for good"}), ["mirror|tokenizer"], before="")
own("z_error_colon", "ERROR: bucket plan does not cover parameter block 44", ["bucket|block 44"])
own("z_bash_set_e", "./run.sh: line 41: NGPU: unbound variable", ["NGPU|unbound"], before="")
own("z_bash_no_cmd", "/srv/job/run.sh: line 12: torchrn: command not found", ["torchrn"], before="")
own("z_make_error", "make: *** [Makefile:31: train] Error 134", ["134|SIGABRT|abort|train"])
own("z_perl_die", "cannot parse shard list at /srv/bin/feed.pl line 88.", ["shard list|cannot parse"])
own("z_r_error", "Error in fit(model, data) : lapack routine dgesvd returned 3\nExecution halted", ["dgesvd|lapack|halted"])
own("z_octave", "error: out of bound; value 51 out of bound 50", ["out of bound"])
own("z_matlab", "Error using train_net (line 88)\nIndex exceeds the number of array elements. Index must not exceed 50.", ["train_net|Index exceeds"])
own("z_fortran_stop", "ERROR STOP halo exchange: neighbor table is inconsistent", ["halo|neighbor"])
own("z_fortran_rt", "At line 88 of file solver.f90\nFortran runtime error: Index '51' of dimension 1 of array 'w' above upper bound of 50", ["upper bound|Index"])
own("z_cpp_abort_msg", "trainer: ../src/ring.cpp:88: void Ring::push(Slot*): Assertion `n < cap' failed.\nAborted (core dumped)", ["ring.cpp|n < cap|Assertion"], cls=A)
own("z_tcmalloc", "src/tcmalloc.cc:284] Attempt to free invalid pointer 0x7f33\nAborted (core dumped)", ["invalid pointer|free"], cls=A)
own("z_asan", "=================================================================\n==4410==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000 at pc 0x55 bp 0x7f sp 0x7f\nREAD of size 8 at 0x602000 thread T0",
    ["heap-buffer-overflow"])
own("z_stack_overflow", "Fatal Python error: _Py_CheckRecursiveCall: Cannot recover from stack overflow.\nPython runtime state: initialized\n\nCurrent thread 0x00007f (most recent call first):\n"
    '  File "/srv/t/tree.py", line 40 in walk', ["stack overflow"], cls=A)
own("z_rust_anyhow", "Error: reading /data/index.bin\n\nCaused by:\n    0: header is truncated\n    1: failed to fill whole buffer", ["index.bin|header"])
own("z_elixir", "** (RuntimeError) supervisor of shard 12 reached its restart limit\n    (feed 0.4.0) lib/feed.ex:88: Feed.run/1", ["supervisor|shard 12|restart limit"])
own("z_ruby", "/srv/feed/run.rb:88:in `fetch': key not found: :bucket (KeyError)\n\tfrom /srv/feed/run.rb:12:in `<main>'", ["KeyError|key not found|bucket"])
own("z_csharp", "Unhandled exception. System.InvalidOperationException: Sequence contains no elements\n   at Feed.Program.Main(String[] args) in /srv/feed/Program.cs:line 41", ["InvalidOperationException|no elements"])
own("z_scala", "Exception in thread \"main\" org.apache.spark.SparkException: Job aborted due to stage failure: Task 12 in stage 3.0 failed 4 times", ["SparkException|stage failure"])
own("z_julia", "ERROR: LoadError: DimensionMismatch: A has dimensions (50,51) but B has dimensions (50,50)\nStacktrace:\n [1] gemm!(...)", ["DimensionMismatch"])
own("z_swift", "Fatal error: Index out of range: file Swift/ContiguousArrayBuffer.swift, line 600", ["Index out of range"])
own("z_ocaml", 'Fatal error: exception Failure("shard 12: hd")', ["Failure|shard 12"])
own("z_nccl_like_other", "[gx-1:0] XCCL WARN ring 3: neighbor 4 gave bad credentials, aborting", ["credentials|ring 3"])
own("z_service_quota", "2026-03-14 10:05:00 ERROR artifact store says 507 insufficient storage for the project", ["507|storage|artifact"])
own("z_secrets", "2026-03-14 10:05:00 ERROR vault lease 81 was revoked, cannot decrypt the shards", ["vault|lease|decrypt"])
own("z_not_enough_data", "ValueError: dataset has 11 documents, fewer than the 16 replicas", ["11 documents|replicas"], cls=A)
own("z_assert_message_only", "AssertionError: replica groups overlap: [0, 1] and [1, 2]", ["overlap"], cls=A)
own("z_click_usage", "Usage: train.py [OPTIONS]\nTry 'train.py --help' for help.\n\nError: No such option: --lrr Did you mean --lr?", ["No such option|lrr"], before="")
own("z_argparse", "usage: train.py [-h] --data DATA\ntrain.py: error: argument --data: expected one argument", ["--data|expected one"], before="", cls=A)
own("z_hydra", "In 'config': Could not find 'model/llma7b'\n\nAvailable options in 'model':\n\tllama7b", ["llma7b"], before="")
own("z_pydantic", tb("pydantic_core._pydantic_core.ValidationError: 1 validation error for TrainConfig\nlr\n  Input should be greater than 0 [type=greater_than, input_value=-3, input_type=int]", "/srv/t/cfg.py:9:<module>:cfg = TrainConfig(**d)"),
    ["ValidationError|TrainConfig"], before="", cls=A)
own("z_exec_format", "bash: ./trainer: cannot execute binary file: Exec format error", ["Exec format|binary"], before="")
own("z_glibc", "./trainer: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./trainer)", ["GLIBC_2.38"], before="")
own("z_two_causes_order", "2026-03-14 10:05:00 ERROR prefetch: shard 12 is gone\n2026-03-14 10:05:01 ERROR trainer: no input, stopping\n2026-03-14 10:05:02 ERROR main: run failed", ["shard 12|prefetch"])
own("z_supervisord", "2026-03-14 10:05:00,123 INFO exited: trainer (exit status 70; not expected)\n2026-03-14 10:05:01,123 INFO gave up: trainer entered FATAL state, too many start retries too quickly", ["70|FATAL|gave up|trainer"])
own("z_monit", "Mar 14 10:05:00 n7 monit[811]: 'trainer' process is not running", ["not running"])
own("z_watchdog_kernelless", "watchdogd: no keepalive from trainer for 120 s, sending SIGABRT", ["keepalive|SIGABRT"])
own("z_rank_table", "2026-03-14 10:05:00 ERROR barrier: 63 of 64 arrived, missing: rank 41 (gx-5)", ["41"], may=[41])
own("z_rank_prefix_text", "rank 7 | 2026-03-14 10:05:00 | ERROR | optimizer state of block 3 is corrupt", ["corrupt|block 3"], may=[7])

# ---- healthy ---------------------------------------------------------------------------------------
healthy("zk_info_with_error_word", log(plain(1, 30) + "\n2026-03-14 10:02:00 INFO error feedback compression is on\n" + plain(31, 90, m=3)), ordered=True)
healthy("zk_level_field_value", log("\n".join(f'time="2026-03-14T10:00:{i:02d}Z" level=info msg="step done" step={i} loss={4 - i * .01:.3f} errors=0 fatal=false' for i in range(1, 60))))
healthy("zk_json_error_null", log("\n".join(json.dumps({"@timestamp": f"2026-03-14T10:00:{i:02d}Z", "log.level": "info", "error": None, "message": f"step {i} loss {4 - i * .01:.3f}"}) for i in range(1, 60))))
healthy("zk_asan_option", log("ASAN_OPTIONS is unset; AddressSanitizer is off\n" + plain(1, 90)))
healthy("zk_usage_text", log("usage hints: run with --lr 3e-4; error bars are 95 %\n" + plain(1, 90)))
healthy("zk_supervisor_spawn", log("2026-03-14 09:59:00,123 INFO spawned: 'trainer' with pid 81\n2026-03-14 09:59:01,123 INFO success: trainer entered RUNNING state\n" + plain(1, 90)))
healthy("zk_missing_keys", log("missing keys: [], unexpected keys: []\n" + plain(1, 90)))
healthy("zk_epochs_done", log(plain(1, 90) + "\nrank 0: all epochs done\nrank 1: all epochs done\nProcess terminated by SIGTERM of the queue after completion"), ordered=True)
