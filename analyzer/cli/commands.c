/* SPDX-License-Identifier: Apache-2.0 */
/* The commands: one row each. */
#include "cli/cli.h"

#include <string.h>

#define ANALYZE_OPTIONS                                                                            \
    (INQ_OPT_WRITES | INQ_OPT_READS | INQ_OPT_BIT(INQ_OPT_FORMAT) | INQ_OPT_BIT(INQ_OPT_RANK) |    \
     INQ_OPT_BIT(INQ_OPT_STEP) | INQ_OPT_BIT(INQ_OPT_TIME) | INQ_OPT_BIT(INQ_OPT_ONLY) |           \
     INQ_OPT_BIT(INQ_OPT_METHOD) | INQ_OPT_BIT(INQ_OPT_WHAT_IF) | INQ_OPT_BIT(INQ_OPT_FAIL_ON) |   \
     INQ_OPT_BIT(INQ_OPT_TABLE) | INQ_OPT_REDACTS | INQ_OPT_BIT(INQ_OPT_VERBOSE))

#define INFO_OPTIONS                                                                               \
    (INQ_OPT_WRITES | INQ_OPT_READS | INQ_OPT_BIT(INQ_OPT_FORMAT) | INQ_OPT_REDACTS |              \
     INQ_OPT_BIT(INQ_OPT_VERBOSE))

/* What every command that takes a schedule with its times, or one job of a run, takes. */
#define SCHEDULE_OR_RUN                                                                            \
    (INQ_OPT_WRITES | INQ_OPT_READS | INQ_OPT_BIT(INQ_OPT_FORMAT) | INQ_OPT_BIT(INQ_OPT_STEP) |    \
     INQ_OPT_BIT(INQ_OPT_JOB) | INQ_OPT_BIT(INQ_OPT_MAKE) | INQ_OPT_BIT(INQ_OPT_STAGES) |          \
     INQ_OPT_BIT(INQ_OPT_MICROBATCHES) | INQ_OPT_BIT(INQ_OPT_CHUNKS) |                             \
     INQ_OPT_BIT(INQ_OPT_TIMES) | INQ_OPT_BIT(INQ_OPT_NO_OVERLAP) | INQ_OPT_BIT(INQ_OPT_DIALECT))

#define SCHEDULE_OPTIONS                                                                           \
    (SCHEDULE_OR_RUN | INQ_OPT_BIT(INQ_OPT_TO) | INQ_OPT_BIT(INQ_OPT_GROUPING) |                   \
     INQ_OPT_BIT(INQ_OPT_SIZES) | INQ_OPT_BIT(INQ_OPT_AT) | INQ_OPT_BIT(INQ_OPT_COMMS) |           \
     INQ_OPT_BIT(INQ_OPT_MEMORY) | INQ_OPT_BIT(INQ_OPT_MEMORY_LIMIT) |                             \
     INQ_OPT_BIT(INQ_OPT_BASELINE) | INQ_OPT_BIT(INQ_OPT_TOLERANCE))

#define EXECUTES                                                                                   \
    (INQ_OPT_BIT(INQ_OPT_FIX) | INQ_OPT_BIT(INQ_OPT_SCALE) | INQ_OPT_BIT(INQ_OPT_REPEATS) |        \
     INQ_OPT_BIT(INQ_OPT_WORK) | INQ_OPT_BIT(INQ_OPT_NO_GRAPH) | INQ_OPT_BIT(INQ_OPT_REALTIME) |   \
     INQ_OPT_BIT(INQ_OPT_VERBOSE))

#define FIX_OPTIONS                                                                                \
    (SCHEDULE_OR_RUN | EXECUTES | INQ_OPT_BIT(INQ_OPT_VALIDATE) | INQ_OPT_BIT(INQ_OPT_TOP))

#define REPLAY_OPTIONS                                                                             \
    (SCHEDULE_OR_RUN | EXECUTES | INQ_OPT_BIT(INQ_OPT_GROUPING) | INQ_OPT_BIT(INQ_OPT_ENGINE) |    \
     INQ_OPT_BIT(INQ_OPT_STEPS))

#define SYNTH_OPTIONS                                                                              \
    (INQ_OPT_COMMON | INQ_OPT_BIT(INQ_OPT_FOLDER) | INQ_OPT_BIT(INQ_OPT_JOBS) |                    \
     INQ_OPT_BIT(INQ_OPT_QUIET))

#define INGEST_OPTIONS                                                                             \
    (SYNTH_OPTIONS | INQ_OPT_BIT(INQ_OPT_PROGRESS) | INQ_OPT_BIT(INQ_OPT_SHARE) |                  \
     INQ_OPT_BIT(INQ_OPT_REDUCED) | INQ_OPT_BIT(INQ_OPT_STEPS) | INQ_OPT_REDACTS)

#define TEXT_JSON (INQ_FORMAT_BIT(INQ_FORMAT_TEXT) | INQ_FORMAT_BIT(INQ_FORMAT_JSON))
#ifdef INQ_HAVE_HTML
#define HTML INQ_FORMAT_BIT(INQ_FORMAT_HTML)
#else
#define HTML 0U
#endif
#ifdef INQ_HAVE_SQLITE
#define SQLITE INQ_FORMAT_BIT(INQ_FORMAT_SQLITE)
#else
#define SQLITE 0U
#endif
#define ANALYZE_FORMATS                                                                            \
    (TEXT_JSON | INQ_FORMAT_BIT(INQ_FORMAT_MARKDOWN) | INQ_FORMAT_BIT(INQ_FORMAT_PERFETTO) |       \
     INQ_FORMAT_BIT(INQ_FORMAT_CSV) | HTML | SQLITE)
#define COMPARE_OPTIONS                                                                            \
    (INQ_OPT_WRITES | INQ_OPT_READS | INQ_OPT_BIT(INQ_OPT_FORMAT) | INQ_OPT_BIT(INQ_OPT_STEP) |    \
     INQ_OPT_BIT(INQ_OPT_JOB) | INQ_OPT_BIT(INQ_OPT_SAMPLES) | INQ_OPT_BIT(INQ_OPT_VERBOSE))

#define CHECK_OPTIONS                                                                              \
    (SCHEDULE_OR_RUN | INQ_OPT_BIT(INQ_OPT_GROUPING) | INQ_OPT_BIT(INQ_OPT_BASELINE) |             \
     INQ_OPT_BIT(INQ_OPT_UPDATE) | INQ_OPT_BIT(INQ_OPT_FORCE) | INQ_OPT_BIT(INQ_OPT_ADD) |         \
     INQ_OPT_BIT(INQ_OPT_MEMORY) | INQ_OPT_BIT(INQ_OPT_MEMORY_LIMIT) |                             \
     INQ_OPT_BIT(INQ_OPT_TOLERANCE) | INQ_OPT_BIT(INQ_OPT_RULE))

/* What CI systems show. */
#define CI_FORMATS                                                                                 \
    (INQ_FORMAT_BIT(INQ_FORMAT_JUNIT) | INQ_FORMAT_BIT(INQ_FORMAT_GITHUB) |                        \
     INQ_FORMAT_BIT(INQ_FORMAT_GITLAB) | INQ_FORMAT_BIT(INQ_FORMAT_SARIF))
#define SCHEDULE_FORMATS                                                                           \
    (TEXT_JSON | INQ_FORMAT_BIT(INQ_FORMAT_CSV) | INQ_FORMAT_BIT(INQ_FORMAT_PERFETTO) |            \
     INQ_FORMAT_BIT(INQ_FORMAT_SVG) | INQ_FORMAT_BIT(INQ_FORMAT_CHAKRA) |                          \
     INQ_FORMAT_BIT(INQ_FORMAT_MARKDOWN) | CI_FORMATS)
#define REPLAY_FORMATS                                                                             \
    (TEXT_JSON | INQ_FORMAT_BIT(INQ_FORMAT_PERFETTO) | INQ_FORMAT_BIT(INQ_FORMAT_CHAKRA))
#define FIX_FORMATS     (TEXT_JSON | INQ_FORMAT_BIT(INQ_FORMAT_MARKDOWN) | HTML)
#define COMPARE_FORMATS (TEXT_JSON | INQ_FORMAT_BIT(INQ_FORMAT_MARKDOWN) | HTML)
#define CHECK_FORMATS   (TEXT_JSON | INQ_FORMAT_BIT(INQ_FORMAT_MARKDOWN) | HTML | CI_FORMATS)
#define ONLY_TEXT       INQ_FORMAT_BIT(INQ_FORMAT_TEXT)

const struct inq_command inq_commands[] = {
    {"analyze", "PATH...", "say where the time went and who delayed whom",
     "Reads every file and folder given, recognizes each by its content, and writes the\n"
     "postmortem: the verdict, the findings with their evidence, then the tables. Damaged,\n"
     "missing and mixed-up files are counted and worked around.\n"
     "\n"
     "  inquest analyze run/                   to the terminal\n"
     "  inquest analyze run/ -o report.html    one page with charts and the timeline\n"
     "  inquest analyze run/ -o report.md      a document for the ticket\n"
     "  inquest analyze run/ -o run.trace.json a trace for ui.perfetto.dev\n"
     "  inquest analyze run/ -o run.sqlite     tables to query; --table list names them\n"
     "  inquest analyze run/ -s 10..20         without the warm-up\n"
     "  inquest analyze run/ -q --fail-on high exits 3 on a grave finding",
     ANALYZE_OPTIONS, ANALYZE_FORMATS, inq_cmd_analyze},
    {"info", "PATH...", "say what is here: formats, ranks, steps, damage",
     "Reads the files as analyze does and lists what they hold: jobs, ranks that are there and\n"
     "ranks that are missing, steps, times, the damage of each file, and the files that were\n"
     "not understood, with the reason.",
     INFO_OPTIONS, TEXT_JSON, inq_cmd_info},
    {"compare", "BASE NEW", "two runs of any size: what changed, scaling efficiency, where it went",
     "Compares the run in NEW with the one in BASE, of the same size or another: speed-up against\n"
     "the ideal and scaling efficiency; what the steps lose, split into compute, bytes, "
     "bandwidth,\n"
     "overlap and waiting of collectives, pipeline bubbles and host, which sum to the difference;\n"
     "collectives, kernels and findings that changed, largest first.\n"
     "\n"
     "  inquest compare monday/ tuesday/                     what changed?\n"
     "  inquest compare dp8/ dp16/                           how does it scale?\n"
     "  inquest compare dp8/ dp16/ --samples 2048,4096       the work of a step is known\n"
     "  inquest compare dp8/ dp16/ -o scaling.md",
     COMPARE_OPTIONS, COMPARE_FORMATS, inq_cmd_compare},
    {"schedule", "VERB [PATH]", "show, make, lint, convert, compare or search a schedule",
     "VERB is show, make, lint, convert, compare or search; the schedule is a\n"
     "torch.distributed.pipelining CSV file, one made with --make, or that of a recorded run.\n"
     "show draws it, times it by --times and says its bubbles and peak memory next to the theory;\n"
     "make and convert write its CSV; lint finds what would hang, corrupt or overflow before a\n"
     "GPU is booked, and exits 3 if it does; compare sets files or kinds side by side; search\n"
     "tries all kinds under a memory limit.\n"
     "\n"
     "  inquest schedule show --make 1f1b -p 4 -m 8 --times 1,1,1,0\n"
     "  inquest schedule show --make 1f1b -p 4 -m 8 --at S3:F1:end\n"
     "  inquest schedule show --make dualpipev -p 4 -m 10 -o dualpipev.svg\n"
     "  inquest schedule show --make 1f1b -p 4 -m 8 --times 18,18,9,1 -o s.et\n"
     "  inquest schedule show run/ --at 1.25s\n"
     "  inquest schedule convert run/ -o recorded.csv\n"
     "  inquest schedule make --make zb-h1 -p 8 -m 32 --comms -o zbh1.csv\n"
     "  inquest schedule lint zbh1.csv --grouping none\n"
     "  inquest schedule lint schedules/ -f gitlab -o gl-code-quality-report.json\n"
     "  inquest schedule compare 1f1b zb-h1 mine.csv -p 8 -m 32 --times 18,18,9,1\n"
     "  inquest schedule show --make zb-2p -p 8 -m 32 --times 18,18,9,1 --memory 3,1,0\n"
     "  inquest schedule search -p 8 -m 32 --times 18,18,9,1 --memory-limit 8",
     SCHEDULE_OPTIONS, SCHEDULE_FORMATS, inq_cmd_schedule},
    {"check", "PATH...", "compare a run or a schedule with a baseline: the gate for CI",
     "Measures a run (step time, compute by stage, exposed communication, worst wait, bubbles,\n"
     "slowdown, findings) or a schedule (a CSV file or --make: makespan, bubbles, peak memory,\n"
     "lint) and compares it with a baseline that --update wrote. A run got worse only when that\n"
     "is more than the tolerance and more than the noise of its steps explains. Exits 3 when a\n"
     "check fails, 1 when there is nothing to compare. What is exact, as a schedule is, has no\n"
     "tolerance. Several schedules, or a folder of them, are checked one by one; with a folder of\n"
     "baselines each is held against its own.\n"
     "\n"
     "  inquest check run/ --baseline perf.json --update       once; commit perf.json\n"
     "  inquest check run/ --baseline perf.json                in CI\n"
     "  inquest check run/ --baseline perf.json --rule worst_wait=off --rule step_time=200ms\n"
     "  inquest check s.csv --times 18,18,9,1 --baseline s.json -f junit -o check.xml\n"
     "  inquest check schedules/ --baseline baselines/ -f sarif -o check.sarif",
     CHECK_OPTIONS, CHECK_FORMATS, inq_cmd_check},
    {"fix", "PATH|SCHEDULE", "propose fixes, predict what each would gain",
     "Takes the step of median length of a recorded run, or a schedule (a CSV file, or one made\n"
     "with --make), changes it as each fix would, and simulates it: which fixes help, by how\n"
     "much, what they assume and what they cost. Without --fix it tries what the findings call\n"
     "for. Fixes joined by '+' are applied together. With --validate the original and the best\n"
     "fixes are executed, and each prediction is confirmed, refuted or left open.\n"
     "\n"
     "  inquest fix run/                          what the findings call for\n"
     "  inquest fix run/ --fix replace-rank:5     one fix\n"
     "  inquest fix run/ --validate host          and execute the best three\n"
     "  inquest fix run/ --fix schedule:zb-h1+microbatches:16 -f json\n"
     "  inquest fix --make 1f1b -p 4 -m 8 --times 18,18,9,1 --fix schedule:zb-h1",
     FIX_OPTIONS, FIX_FORMATS, inq_cmd_fix},
    {"replay", "PATH|SCHEDULE", "re-execute a step, on the CPU or on GPUs",
     "Re-executes (it does not print): the step of median length of a recorded run, or a schedule\n"
     "(a CSV file, or one made with --make), op by op on real clocks, every rank waiting for its\n"
     "messages as it would. Says how long it took next to the simulation and the record, and how\n"
     "long each rank was idle. -o run.trace.json writes what was executed as a trace that\n"
     "'inquest analyze' reads and ui.perfetto.dev shows; -o run.et, Chakra graphs for simulators,\n"
     "run.RANK.et for each rank.\n"
     "\n"
     "  inquest replay --make 1f1b -p 4 -m 8 --times 18,18,9,1 --repeats 15\n"
     "  inquest replay run/ --engine cuda --scale 0.1\n"
     "  inquest replay run/ --fix replace-rank:5 -o fixed.trace.json",
     REPLAY_OPTIONS, REPLAY_FORMATS, inq_cmd_replay},
    {"ingest", "PATH...", "read traces once: a partial file for each",
     "Reads every file as the other commands do and writes what it holds, compact and checked, as\n"
     "DIR/PATH.inq. Every command takes partials instead of the files, alone or mixed with "
     "others,\n"
     "and gives the same report. Files may be ingested where they are, by as many machines as\n"
     "there are, and analyzed together later. A partial of a file that has not changed is kept:\n"
     "a run that was interrupted goes on.\n"
     "\n"
     "  inquest ingest run/ -o partials/\n"
     "  inquest analyze partials/\n"
     "  inquest ingest run/node-07 -o /shared/partials     on every node, then analyze the folder\n"
     "  inquest ingest run/ -o partials/ --share 3/16      the fourth of 16 tasks\n"
     "  inquest ingest run/ -o small/ --reduced            three steps in full, of others totals",
     INGEST_OPTIONS, ONLY_TEXT, inq_cmd_ingest},
    {"synth", "SPEC", "write a run with planted faults and its truth",
     "Simulates a training run and writes its traces, one per rank, as PyTorch's profiler would,\n"
     "and truth.json: what was planted and what it costs per step, measured by simulating the\n"
     "same run with the same random draws without it. SPEC is KEY=VALUE,... or a JSON file with\n"
     "the same keys; equal specs give equal bytes. 'inquest synth help' lists keys and faults.\n"
     "\n"
     "  inquest synth dp=8,steps=6,seed=7,fault=slow_gpu:rank=5:factor=1.3 -o run/\n"
     "  inquest synth dp=2,pp=4,fault=long_last_stage:factor=1.4 -o pipeline/\n"
     "  inquest synth spec.json -o run/",
     SYNTH_OPTIONS, ONLY_TEXT, inq_cmd_synth},
    {"list", "", "list analyses, fixes, checks, engines, formats, limits",
     "One line each; the names are what --only takes.", INQ_OPT_COMMON, ONLY_TEXT, inq_cmd_list},
    {"schema", "[NAME]", "print the JSON Schema of a document",
     "Without NAME it lists the JSON documents that commands write; with it (report, check,\n"
     "inquest-fix/1, ...) it prints the JSON Schema: every key with its type, unit, definition "
     "and\n"
     "what null means. They are also installed, in share/inquest/schema.",
     INQ_OPT_COMMON, ONLY_TEXT, inq_cmd_schema},
    {"completion", "SHELL", "print completion for bash, zsh or fish",
     "For this session:\n"
     "  bash:  source <(inquest completion bash)\n"
     "  zsh:   source <(inquest completion zsh)\n"
     "  fish:  inquest completion fish | source",
     INQ_OPT_COMMON, ONLY_TEXT, inq_cmd_completion},
    {"help", "[COMMAND]", "explain a command and its options", "", INQ_OPT_COMMON, ONLY_TEXT,
     inq_cmd_help},
    {NULL, NULL, NULL, NULL, 0, 0, NULL},
};

const struct inq_command *inq_command_find(const char *name)
{
    for (const struct inq_command *c = inq_commands; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}
