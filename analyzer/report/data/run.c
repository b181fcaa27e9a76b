/* SPDX-License-Identifier: Apache-2.0 */
/* What was recorded: jobs, files, ranks, lanes, steps. */
#include "report/data/data.h"

#include "inquest/account.h"
#include "report/info/info.h"

/* ---- runs
 * ---------------------------------------------------------------------------------------- */

static const struct inq_report_column runs_columns[] = {
    INQ_DATA_JOB,
    {"name", INQ_TYPE_TEXT, "", "name of the job"},
    {"headline", INQ_TYPE_TEXT, "", "the verdict in one sentence"},
    {"class", INQ_TYPE_TEXT, "",
     "kind of the costliest finding, healthy, nothing_to_judge or not_available"},
    {"lost_ns_per_step", INQ_TYPE_INTEGER, "ns",
     "what that finding costs per step; NULL: not measured"},
    {"confidence", INQ_TYPE_TEXT, "", "established, supported or hypothesis"},
    {"world_size", INQ_TYPE_INTEGER, "", "ranks of the job; NULL: not known"},
    {"ranks_present", INQ_TYPE_INTEGER, "", "ranks with a file that was read"},
    {"steps", INQ_TYPE_INTEGER, "", "steps recorded"},
    {"steps_inferred", INQ_TYPE_INTEGER, "", "1: steps were inferred from repetition"},
    {"step_ns_median", INQ_TYPE_INTEGER, "ns", "median length of a step; NULL: no steps"},
    {"origin_ns", INQ_TYPE_INTEGER, "ns",
     "first event; times in text and --time count from here; NULL: no times"},
};

static void fill_runs(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_trace *trace = context->trace;
    const struct inq_verdict *verdict = &context->report->verdict;
    inq_data_text(rows, trace->name);
    inq_data_text(rows, verdict->headline);
    inq_data_text(rows, verdict->cls);
    inq_data_known(rows, verdict->lost_ns_per_step);
    inq_data_text(rows, inq_confidence_text(verdict->confidence));
    inq_data_known(rows, trace->world_size);
    inq_data_int(rows, (int64_t)trace->n_ranks);
    inq_data_int(rows, (int64_t)trace->n_steps);
    inq_data_int(rows, trace->steps_inferred);
    inq_data_known(rows, context->report->step_ns_median);
    inq_data_time(rows, trace->n_ranks > 0 ? context->origin_ns : INQ_TIME_NONE);
}

/* ---- files
 * --------------------------------------------------------------------------------------- */

static const struct inq_report_column files_columns[] = {
    INQ_DATA_JOB,
    {"file_id", INQ_TYPE_INTEGER, "", "key"},
    {"path", INQ_TYPE_TEXT, "", "as found"},
    {"format", INQ_TYPE_TEXT, "", "what it was read as"},
    {"bytes", INQ_TYPE_INTEGER, "bytes", "size on disk"},
    {"bytes_uncompressed", INQ_TYPE_INTEGER, "bytes", "size after decompression"},
    {"events", INQ_TYPE_INTEGER, "", "events seen"},
    {"events_kept", INQ_TYPE_INTEGER, "", "of these in the model"},
    {"reason", INQ_TYPE_TEXT, "", "why it was not read, or what is missing from it; NULL: nothing"},
};

static void fill_files(const struct inq_context *context, struct inq_data_rows *rows)
{
    for (size_t i = 0; i < context->trace->n_files; i++) {
        const struct inq_file *file = &context->trace->files[i];
        inq_data_int(rows, (int64_t)i);
        inq_data_text(rows, file->path);
        inq_data_text(rows, file->format);
        inq_data_int(rows, (int64_t)file->bytes);
        inq_data_int(rows, (int64_t)file->bytes_raw);
        inq_data_int(rows, (int64_t)file->events);
        inq_data_int(rows, (int64_t)file->events_kept);
        inq_data_text(rows, file->reason);
    }
}

/* ---- file_damage
 * --------------------------------------------------------------------------------- */

static const struct inq_report_column file_damage_columns[] = {
    INQ_DATA_JOB,
    {"file_id", INQ_TYPE_INTEGER, "", "key of the file"},
    {"kind", INQ_TYPE_TEXT, "", "kind of damage, as in inquest-report(5)"},
    {"count", INQ_TYPE_INTEGER, "", "places; of kind garbage, bytes"},
    {"first_offset", INQ_TYPE_INTEGER, "bytes", "where it is first, uncompressed; NULL: not known"},
};

static void fill_file_damage(const struct inq_context *context, struct inq_data_rows *rows)
{
    for (size_t i = 0; i < context->trace->n_files; i++) {
        const struct inq_damage *damage = &context->trace->files[i].damage;
        for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
            if (damage->count[kind] > 0) {
                inq_data_int(rows, (int64_t)i);
                inq_data_text(rows, inq_damage_word((enum inq_damage_kind)kind));
                inq_data_int(rows, (int64_t)damage->count[kind]);
                inq_data_known(rows, damage->first_offset[kind]);
            }
        }
    }
}

static const char *const file_damage_foreign[] = {"(job, file_id) REFERENCES files", NULL};

/* ---- skipped
 * ------------------------------------------------------------------------------------- */

static const struct inq_report_column skipped_columns[] = {
    INQ_DATA_JOB,
    {"skipped_id", INQ_TYPE_INTEGER, "", "key; these files are of the run, whatever the job says"},
    {"path", INQ_TYPE_TEXT, "", "as found"},
    {"format", INQ_TYPE_TEXT, "", "what it looks like"},
    {"bytes", INQ_TYPE_INTEGER, "bytes", "size on disk"},
    {"reason", INQ_TYPE_TEXT, "", "why it was not read"},
};

static void fill_skipped(const struct inq_context *context, struct inq_data_rows *rows)
{
    for (size_t i = 0; rows->job == 1 && i < context->run->n_skipped; i++) {
        const struct inq_file *file = &context->run->skipped[i];
        inq_data_int(rows, (int64_t)i);
        inq_data_text(rows, file->path);
        inq_data_text(rows, file->format);
        inq_data_int(rows, (int64_t)file->bytes);
        inq_data_text(rows, file->reason);
    }
}

/* ---- ranks
 * --------------------------------------------------------------------------------------- */

static const struct inq_report_column ranks_columns[] = {
    INQ_DATA_JOB,
    INQ_DATA_RANK,
    {"label", INQ_TYPE_TEXT, "", "how reports call it"},
    {"stage", INQ_TYPE_INTEGER, "", "pipeline stage; NULL: not known"},
    {"dp_rank", INQ_TYPE_INTEGER, "", "rank in data parallelism; NULL: not known"},
    {"host", INQ_TYPE_TEXT, "", "NULL: not known"},
    {"device", INQ_TYPE_TEXT, "", "name of the GPU; NULL: not known"},
    {"file_id", INQ_TYPE_INTEGER, "", "key of its file; NULL: none"},
    {"gpu_events", INQ_TYPE_INTEGER, "", "GPU events recorded"},
    {"first_ns", INQ_TYPE_INTEGER, "ns", "first event; NULL: none"},
    {"last_ns", INQ_TYPE_INTEGER, "ns", "last end; NULL: none"},
    {"offset_ns", INQ_TYPE_INTEGER, "ns",
     "added to its times to align its clock; NULL: not aligned"},
    {"drift_ppb", INQ_TYPE_INTEGER, "ppb",
     "drift of its clock that was taken out; NULL: not aligned"},
    {"residual_ns", INQ_TYPE_INTEGER, "ns",
     "median disagreement after alignment; NULL: not measured"},
    {"anchors", INQ_TYPE_INTEGER, "", "matched collectives that the alignment used"},
};

static void fill_ranks(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_trace *trace = context->trace;
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        const struct inq_clock *clock = &rank->clock;
        if (!inq_context_shows(context, rank->rank)) {
            continue;
        }
        inq_data_rank(rows, context, r);
        inq_data_text(rows, inq_trace_str(trace, rank->label));
        inq_data_known(rows, rank->stage);
        inq_data_known(rows, rank->dp_rank);
        inq_data_text(rows, inq_trace_str(trace, rank->host));
        inq_data_text(rows, inq_trace_str(trace, rank->device_name));
        inq_data_known(rows, rank->file < trace->n_files ? (int64_t)rank->file : -1);
        inq_data_int(rows, (int64_t)rank->events.n);
        inq_data_time(rows, rank->first_ns);
        inq_data_time(rows, rank->last_ns);
        inq_data_time(rows, clock->aligned ? clock->offset_ns : INQ_TIME_NONE);
        inq_data_time(rows, clock->aligned ? clock->drift_ppb : INQ_TIME_NONE);
        inq_data_known(rows, clock->aligned ? clock->residual_ns : -1);
        inq_data_int(rows, clock->anchors);
    }
}

/* ---- lanes
 * --------------------------------------------------------------------------------------- */

static const struct inq_report_column lanes_columns[] = {
    INQ_DATA_JOB,
    INQ_DATA_RANK,
    {"lane_id", INQ_TYPE_INTEGER, "", "key, within the rank"},
    {"kind", INQ_TYPE_TEXT, "", "stream, thread or ops (of an op table)"},
    {"device", INQ_TYPE_INTEGER, "", "NULL: none"},
    {"id", INQ_TYPE_INTEGER, "", "stream or thread as recorded"},
    {"name", INQ_TYPE_TEXT, "", "NULL: not named"},
};

static void fill_lanes(const struct inq_context *context, struct inq_data_rows *rows)
{
    static const char *const kinds[] = {"stream", "thread", "ops"};
    for (uint32_t r = 0; r < context->trace->n_ranks; r++) {
        const struct inq_rank *rank = &context->trace->ranks[r];
        for (size_t i = 0; inq_context_shows(context, rank->rank) && i < rank->n_lanes; i++) {
            inq_data_rank(rows, context, r);
            inq_data_int(rows, (int64_t)i);
            inq_data_text(rows, kinds[rank->lanes[i].kind]);
            inq_data_known(rows, rank->lanes[i].device);
            inq_data_int(rows, rank->lanes[i].id);
            inq_data_text(rows, inq_trace_str(context->trace, rank->lanes[i].name));
        }
    }
}

static const char *const lanes_foreign[] = {"(job, rank_id) REFERENCES ranks", NULL};

/* ---- steps
 * --------------------------------------------------------------------------------------- */

static const struct inq_report_column steps_columns[] = {
    INQ_DATA_JOB,
    {"step_id", INQ_TYPE_INTEGER, "", "key"},
    {"step", INQ_TYPE_INTEGER, "", "number as recorded"},
    {"start_ns", INQ_TYPE_INTEGER, "ns", "first start over all ranks"},
    {"dur_ns", INQ_TYPE_INTEGER, "ns", "how long it took, by the account; NULL: not known"},
    {"judged", INQ_TYPE_INTEGER, "", "1: the account judges it; NULL: there is no account"},
    {"why_not", INQ_TYPE_TEXT, "", "why it was set aside; NULL: it was not"},
};

static void fill_steps(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_account *account = context->report->account;
    for (size_t s = 0; context->report->step_ns != NULL && s < context->trace->n_steps; s++) {
        const struct inq_account_step *judged =
            account != NULL && !account->one_interval ? &account->steps[s] : NULL;
        inq_data_int(rows, (int64_t)s);
        inq_data_int(rows, context->trace->steps[s].number);
        inq_data_int(rows, context->report->step_start_ns[s]);
        inq_data_known(rows, context->report->step_ns[s]);
        inq_data_known(rows, judged != NULL ? (int64_t)judged->judged : -1);
        inq_data_text(rows, judged != NULL ? judged->why : NULL);
    }
}

static const char *const no_foreign[] = {NULL};

const struct inq_data_table inq_data_run[] = {
    {INQ_DATA_SHAPE("runs", "one row per job: the verdict, and what it is made from", "job",
                    no_foreign, NULL, runs_columns),
     INQ_SECTION_COUNT, fill_runs},
    {INQ_DATA_SHAPE("files", "the files of each job", "job, file_id", no_foreign, NULL,
                    files_columns),
     INQ_SECTION_COUNT, fill_files},
    {INQ_DATA_SHAPE("file_damage", "what was wrong with a file, by kind", "job, file_id, kind",
                    file_damage_foreign, NULL, file_damage_columns),
     INQ_SECTION_COUNT, fill_file_damage},
    {INQ_DATA_SHAPE("skipped", "files that belong to no job: not understood, or of no use",
                    "skipped_id", no_foreign, NULL, skipped_columns),
     INQ_SECTION_COUNT, fill_skipped},
    {INQ_DATA_SHAPE("ranks", "the ranks of each job that left a file, and their clocks",
                    "job, rank_id", no_foreign, "job, rank", ranks_columns),
     INQ_SECTION_COUNT, fill_ranks},
    {INQ_DATA_SHAPE("lanes", "streams and threads of each rank", "job, rank_id, lane_id",
                    lanes_foreign, NULL, lanes_columns),
     INQ_SECTION_COUNT, fill_lanes},
    {INQ_DATA_SHAPE("steps", "the steps of each job", "job, step_id", no_foreign, NULL,
                    steps_columns),
     INQ_SECTION_ACCOUNT, fill_steps},
    {.fill = NULL},
};
