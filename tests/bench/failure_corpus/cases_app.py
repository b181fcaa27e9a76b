# SPDX-License-Identifier: Apache-2.0
"""Programs: exceptions of scripts and frameworks, JAX, numbers that go wrong."""
from case import dead, log
from forms import *

dead("app_key_error_then_flush", "application_error", [1], ["rank 1", "KeyError", "pixel_values"], log(
    plain(1, 3),
    {"r1": tb("KeyError: 'pixel_values'", MAIN, LOOP, STEP,
              "/workspace/collate.py:27:collate:x = torch.stack([b['pixel_values'] for b in batch])", rank=1)},
    plain(4, 4)))

dead("app_words_like_a_victim", "application_error", [0], ["rank 0", "shard 7|feature store|RuntimeError"], log(
    plain(1, 6),
    {"r0": tb("RuntimeError: feature store has no shard 7", MAIN, "/srv/app/feats.py:19:get:raise RuntimeError(f'feature "
              "store has no shard {i}')", rank=0),
     **{f"r{r}": tb("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
                    "[127.0.0.1]:23111", MAIN, "/srv/app/fit.py:52:main:dist.all_reduce(g)", rank=r) for r in (1, 2)}}))

dead("app_connection_in_message", "application_error|network|host", [3], ["rank 3", "s3|bucket|EndpointConnectionError|connect"],
     log(plain(1, 6),
         {"r3": tb("botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "
                   "\"https://corpus-bucket.s3.eu-west-1.amazonaws.com/shard-00017.tar\"", MAIN, LOOP,
                   "/srv/app/data.py:55:fetch:body = s3.get_object(Bucket=b, Key=k)['Body']", rank=3)},
         {"r0": watchdog(0, 44), "r1": watchdog(1, 44), "r2": watchdog(2, 44)}))

dead("app_eof_error_checkpoint", "application_error|host", [0, 1], ["EOFError", "rank|ranks|ckpt|load"], log(
    {f"r{r}": tb("EOFError: Ran out of input", MAIN, "/srv/app/ckpt.py:12:load:state = torch.load(path)",
                 "/opt/conda/lib/python3.11/site-packages/torch/serialization.py:1246:_legacy_load:magic_number = "
                 "pickle_module.load(f, **pickle_load_args)", rank=r) for r in (0, 1)}))

dead("app_shape_mismatch_first_step", "application_error", [0, 1, 2, 3], ["4096", "shape|size|mat1"], log(
    "[2026-03-14 10:00:00] INFO world size 4\n",
    {f"r{r}": tb("RuntimeError: mat1 and mat2 shapes cannot be multiplied (8192x4096 and 5120x4096)", MAIN, LOOP, STEP,
                 "/srv/app/model.py:91:forward:return self.proj(x)", rank=r) for r in range(4)},
    {"agent": elastic([(3, 3, 1, 33), (0, 0, 1, 30), (1, 1, 1, 31), (2, 2, 1, 32)])}))

dead("app_import_error", "application_error", [], ["ModuleNotFoundError|No module", "flash_attn"], log(
    tb("ModuleNotFoundError: No module named 'flash_attn_2_cuda'", "/srv/app/train.py:8:<module>:from model import GPT",
       "/srv/app/model.py:3:<module>:import flash_attn_2_cuda as fa")), may=[0])

dead("app_argparse", "application_error", [], ["unrecognized|argument|usage", "--lr-sched|train.py"], log(
    "usage: train.py [-h] [--lr LR] [--steps STEPS]\ntrain.py: error: unrecognized arguments: --lr-sched cosine\n" +
    elastic([(0, 0, 2, 30), (1, 1, 2, 31)])), may=[0, 1])

dead("app_dataloader_worker_exception", "application_error", [2], ["rank 2", "ValueError", "worker|DataLoader|corrupt"],
     log(plain(60, 66),
         {"r2": tb("ValueError: Caught ValueError in DataLoader worker process 3.\nOriginal Traceback (most recent call "
                   "last):\n  File \"/opt/conda/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py\", line 309, "
                   "in _worker_loop\n    data = fetcher.fetch(index)\n  File \"/srv/app/data.py\", line 48, in "
                   "__getitem__\n    raise ValueError(f'corrupt record {i}')\nValueError: corrupt record 99120", MAIN, LOOP,
                   "/opt/conda/lib/python3.11/site-packages/torch/_utils.py:722:reraise:raise exception", rank=2)},
         {"r0": watchdog(0, 512), "r1": watchdog(1, 512), "r3": watchdog(3, 512)}))

dead("app_json_error_file", "application_error", [3], ["rank 3|error.json", "IndexError", "out of range"], {
    "torchelastic/none_ab/attempt_0/3/error.json":
    '{"message": {"message": "IndexError: list index out of range", "extraInfo": {"py_callstack": "Traceback (most recent '
    'call last):\\n  File \\"/srv/app/train.py\\", line 88, in main\\n    x = items[n]\\nIndexError: list index out of '
    'range\\n", "timestamp": "1773478951"}}}\n',
    "torchelastic/none_ab/attempt_0/3/stderr.log": tb("IndexError: list index out of range", MAIN,
                                                      "/srv/app/train.py:88:main:x = items[n]", rank=3),
    "torchelastic/none_ab/attempt_0/0/stderr.log": watchdog(0, 90)}, merge=False)

dead("app_deepspeed_assert", "application_error", [4], ["rank 4", "AssertionError|assert", "grad|zero|partition|overlap"],
     log("[2026-03-14 10:00:01,100] [INFO] [config.py:1000:print]   zero_enabled ................ True\n"
         "[2026-03-14 10:00:11,100] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[3e-05], mom=[[0.9, "
         "0.95]]\n[2026-03-14 10:00:21,100] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=0, lr=[3e-05], "
         "mom=[[0.9, 0.95]]",
         {"r4": tb("AssertionError: The parameter 61 has already been reduced. Gradient computed twice for this partition. "
                   "Multiple gradient reduction is currently not supported", MAIN, "/srv/ds/train.py:90:train:"
                   "engine.backward(loss)", "/opt/conda/lib/python3.11/site-packages/deepspeed/runtime/zero/"
                   "stage_1_and_2.py:920:reduce_independent_p_g_buckets_and_remove_grads:assert not "
                   "self.params_already_reduced[param_id]", rank=4)},
         "[2026-03-14 10:00:31,512] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 2210\n"
         "[2026-03-14 10:00:31,514] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py', "
         "'--local_rank=4'] exits with return code = 1"))

dead("app_deepspeed_loss_scale", "numerical_divergence|application_error", [], ["loss scale"], log(
    "\n".join(f"[2026-03-14 10:0{i}:11,100] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping "
              f"step. Attempted loss scale: {2 ** (8 - i)}, reducing to {2 ** (7 - i)}" for i in range(8)),
    tb("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.", MAIN,
       "/opt/conda/lib/python3.11/site-packages/deepspeed/runtime/fp16/loss_scaler.py:175:update_scale:raise Exception(")),
     may=[0])

dead("app_megatron_nan_assert", "numerical_divergence", [12], ["rank 12", "nan", "grad"], log(
    megatron(5000, 5008),
    {"r12": tb("AssertionError: found NaN in local grad norm for bucket #0 in backward pass before data-parallel "
               "communication collective. Device: 4, node: gpu-n2", "/opt/megatron/pretrain_gpt.py:288:<module>:pretrain(",
               "/opt/megatron/megatron/core/distributed/param_and_grad_buffer.py:157:check_grads:assert not "
               "norm.isnan()", rank=12)}))

dead("app_nemo_lightning", "application_error", [0], ["rank 0", "ValueError", "divisible|batch"], log(
    "[NeMo I 2026-03-14 10:00:01 nemo_logging:393] Experiments will be logged at /results/gpt/2026-03-14\n"
    "[NeMo W 2026-03-14 10:00:02 nemo_logging:405] Failed to find optional import of modelopt, skipping\n"
    "GPU available: True (cuda), used: True",
    {"r0": tb("ValueError: global batch size (250) is not divisible by micro batch size (4) times data parallel size (8)",
              "/opt/NeMo/examples/pretrain.py:60:<module>:main()",
              "/opt/NeMo/nemo/collections/nlp/parts/trainer_builder.py:41:check:raise ValueError(msg)", rank=0)}))

dead("app_accelerate_subprocess", "application_error", [], ["TypeError|unexpected keyword", "gradient_checkpointing|accelerate"],
     log(hf(10, 20),
         tb("TypeError: forward() got an unexpected keyword argument 'gradient_checkpointing_kwargs'",
            "/srv/sft.py:101:<module>:trainer.train()") + "\n" +
         tb("subprocess.CalledProcessError: Command '['/opt/conda/bin/python', 'sft.py', '--bf16']' returned non-zero exit "
            "status 1.", "/opt/conda/bin/accelerate:8:<module>:sys.exit(main())",
            "/opt/conda/lib/python3.11/site-packages/accelerate/commands/launch.py:1198:launch_command:simple_launcher("
            "args)")), may=[0], never=["CalledProcessError"])

dead("app_axolotl_value_error", "application_error", [0, 1], ["ValueError", "sample_packing|flash|attention"], log(
    "[2026-03-14 10:00:00,100] [INFO] [axolotl.load_tokenizer:291] [PID:77] [RANK:0] No Chat template selected.",
    {f"r{r}": tb("ValueError: sample_packing requires flash_attention or sdp_attention to be set to true",
                 "/workspace/axolotl/src/axolotl/cli/train.py:70:<module>:fire.Fire(do_cli)",
                 "/workspace/axolotl/src/axolotl/utils/config.py:512:validate:raise ValueError(m)", rank=r)
     for r in (0, 1)}))

dead("app_llamafactory_tokenizer", "application_error", [], ["ValueError|KeyError|dataset", "alpaca_zh2"], log(
    "[INFO|2026-03-14 10:00:00] llamafactory.hparams.parser:355 >> Process rank: 0, device: cuda:0, n_gpu: 1, distributed "
    "training: True, compute dtype: torch.bfloat16\n" +
    tb("ValueError: Undefined dataset alpaca_zh2 in dataset_info.json.",
       "/srv/LLaMA-Factory/src/llamafactory/launcher.py:23:<module>:launch()",
       "/srv/LLaMA-Factory/src/llamafactory/data/parser.py:121:get_dataset_list:raise ValueError(f'Undefined dataset "
       "{name} in dataset_info.json.')")), may=[0])

dead("app_composer_runtime", "application_error", [5], ["rank 5", "FileNotFoundError|No such file", "index.json"], log(
    "[batch=100/4800]:\n\t Train loss/train/total: 4.1210\n\t Train trainer/global_step: 100\n[batch=110/4800]:\n"
    "\t Train loss/train/total: 4.0910\n\t Train trainer/global_step: 110",
    "ERROR:composer.cli.launcher:Rank 5 crashed with exit code 1.\n"
    "Waiting up to 30 seconds for all training processes to terminate. Press Ctrl-C to exit immediately.\n"
    "Global rank 5 (PID 991) exited with code 1\n----------Begin global rank 5 STDERR----------\n" +
    tb("FileNotFoundError: [Errno 2] No such file or directory: '/data/c4/train/index.json'",
       "/llm-foundry/scripts/train/train.py:9:<module>:train(cfg)",
       "/opt/conda/lib/python3.11/site-packages/streaming/base/stream.py:311:prepare:raise e") +
    "\n----------End global rank 5 STDERR----------\nERROR:composer.cli.launcher:Global rank 0 (PID 986) exited with code "
    "-15"))

dead("app_torchtitan_config", "application_error", [0], ["rank 0", "ValueError|Invalid", "parallel|mesh|world"], log(
    titan(1, 3),
    {"r0": tb("AssertionError: Invalid parallel dims: dp_replicate(1) * dp_shard(2) * cp(1) * tp(4) * pp(2) != "
              "WORLD_SIZE(8)", "/opt/torchtitan/torchtitan/train.py:441:<module>:main(config)",
              "/opt/torchtitan/torchtitan/distributed/parallel_dims.py:55:_validate:assert ok, msg", rank=0)}))

dead("jax_resource_exhausted", "cuda_oom", [], ["memory|RESOURCE_EXHAUSTED", "68719476736|64|alloc|HBM"], log(
    "I0314 10:00:01.100 1234 train.py:88] step 10 loss 8.21\nI0314 10:00:05.100 1234 train.py:88] step 20 loss 8.01\n" +
    tb("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 "
       "bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter allocation:   12.50GiB\n"
       "              constant allocation:         0B", "/srv/maxtext/train.py:900:<module>:app.run(main)",
       "/srv/maxtext/train.py:711:train_loop:state, metrics = p_train_step(state, batch, rng)")), may=[0])

dead("jax_tpu_hbm", "cuda_oom", [], ["memory|HBM|hbm", "RESOURCE_EXHAUSTED|18.42G|exceed"], log(
    tb("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space "
       "hbm. Used 18.42G of 15.48G hbm. Exceeded hbm capacity by 2.94G.", "/srv/t5x/train.py:12:<module>:main()",
       "/srv/t5x/trainer.py:300:compile:self._compiled = lowered.compile()")), may=[0])

dead("jax_heartbeat_timeout", "peer_died", [3], ["task:?3|task 3|rank 3|process 3", "heartbeat"], log(
    "I0314 10:00:01.100 1234 train.py:88] step 10 loss 8.21\n"
    "E0314 10:04:38.568412 1234 coordination_service.cc:1170] /job:jax_worker/replica:0/task:3 has been set to ERROR in "
    "coordination service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:3 heartbeat timeout. This indicates that the "
    "remote task has failed, got preempted, or crashed unexpectedly. Check the task logs for an earlier error to debug "
    "further. [type.googleapis.com/tensorflow.CoordinationServiceError='']\n"
    "F0314 10:04:39.594200 1234 client.h:77] Terminating process because the JAX distributed service detected fatal "
    "errors. This most likely indicates that another task died; see the other task logs for more details."))

dead("jax_barrier_timeout", "cpu_stall|peer_died|unknown|network", [1, 6], ["task:?1|task 1|rank 1|ranks? 1|1 and 6|tasks 1"],
     log(tb("jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect. "
            "Timed out task names:\n/job:jax_worker/replica:0/task:1\n/job:jax_worker/replica:0/task:6\n",
            "/srv/jx/train.py:146:<module>:main()", "/srv/jx/train.py:89:main:jax.distributed.initialize()")))

dead("nan_loss_plain", "numerical_divergence", [], ["nan", "step 46|46|45"], log(
    plain(1, 45) + "\n" + "\n".join(f"{at(10, 3, i * 4)} INFO step {46 + i} loss nan lr 3.00e-04 grad_norm nan 4.0 s/it"
                                    for i in range(6))))

dead("nan_grad_norm_twice_without_loss", "numerical_divergence", [], ["nan", "grad"], log(
    "\n".join(f"{at(10, 0, i * 4)} INFO step {i} grad_norm {1 + i * .01:.3f} tokens/s 91000" for i in range(1, 30)) +
    "\n" + "\n".join(f"{at(10, 2, i * 4)} INFO step {30 + i} grad_norm nan tokens/s 91000" for i in range(2))))

dead("nan_every_row_rising_loss", "numerical_divergence", [], ["nan|diverg|rise|rose"], log(
    "\n".join(f"{{'loss': {1.1 + i * .35:.4f}, 'grad_norm': nan, 'learning_rate': 2.0e-05, 'epoch': {i * .01:.2f}}}"
              for i in range(20))))

dead("inf_loss_last_row", "numerical_divergence", [], ["inf"], log(
    plain(1, 30) + "\n2026-03-14 10:02:20 INFO step 31 loss inf lr 3.00e-04 grad_norm inf 4.0 s/it"))

dead("diverged_loss", "numerical_divergence", [], ["diverg|rose|rise|loss"], log(
    plain(1, 60) + "\n" + "\n".join(f"{at(10, 4, i * 4)} INFO step {61 + i} loss {2.5 + i * .9:.4f} lr 3.00e-04 grad_norm "
                                    f"{2 + i * 3:.3f} 4.0 s/it" for i in range(14))))

dead("app_keyboard_interrupt", "scheduler|application_error|unknown", [], ["KeyboardInterrupt|interrupt|Ctrl|SIGINT"], log(
    plain(1, 20) + "\n" + tb("KeyboardInterrupt", MAIN, LOOP)), may=[0])

dead("app_generic_error_line", "unknown|application_error", [], ["invariant|arena|4131"], log(
    plain(1, 20) + "\n2026-03-14 10:01:20 FATAL sched[4131]: arena invariant violated, queue 7 not empty"))

dead("app_cpp_terminate", "application_error|unknown", [], ["bad_alloc|out_of_range|vector", "terminate|what|abort|std::"], log(
    plain(1, 20) + "\nterminate called after throwing an instance of 'std::out_of_range'\n"
    "  what():  vector::_M_range_check: __n (which is 91) >= this->size() (which is 90)\nAborted (core dumped)"))
