/* SPDX-License-Identifier: Apache-2.0 */
/* "inquest-baseline/1": what a team commits. Read strictly: a gate that misreads its baseline is
 * worse than one that stops. */
#include "analysis/check/check.h"
#include "base/json.h"
#include "base/mem.h"
#include "inquest/version.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char SCHEMA[] = "inquest-baseline/1";
static const double MAX_VALUE = 9e15; /* whole numbers are exact in a double up to here */

void inq_baseline_release(struct inq_baseline *baseline)
{
    inq_snapshot_release(&baseline->snapshot);
    *baseline = (struct inq_baseline){0};
}

/* ---- writing ---------------------------------------------------------------------------------*/

static void write_number(struct inq_json *json, const char *key, enum inq_check_unit unit,
                         double value)
{
    if (unit == INQ_UNIT_NS && isfinite(value)) {
        inq_json_int(json, key, (int64_t)value);
    } else {
        inq_json_double(json, key, value);
    }
}

static void write_measures(struct inq_json *json, const struct inq_snapshot *snapshot)
{
    inq_json_object(json, "measures");
    for (size_t i = 0; i < snapshot->n; i++) {
        const struct inq_measure *m = &snapshot->measures[i];
        enum inq_check_unit unit = inq_measure_info(m->kind)->unit;
        inq_json_object(json, m->name);
        write_number(json, "value", unit, m->value);
        if (m->n > 0) {
            write_number(json, "low", unit, m->low);
            write_number(json, "high", unit, m->high);
            inq_json_int(json, "n", (int64_t)m->n);
        }
        if (m->n_runs > 0) {
            inq_json_array(json, "runs");
            for (size_t k = 0; k < m->n_runs; k++) {
                write_number(json, NULL, unit, m->runs[k]);
            }
            inq_json_end_array(json);
        }
        inq_json_end_object(json);
    }
    inq_json_end_object(json);
}

/* Its name, version and command, so that who meets a failure can measure it again. */
static void write_origin(struct inq_json *json, const struct inq_snapshot *s)
{
    if (s->command == NULL) {
        return;
    }
    inq_json_object(json, "made");
    inq_json_string(json, "version", INQ_VERSION_STRING);
    inq_json_string(json, "command", s->command);
    inq_json_string(json, "inputs", s->inputs != NULL ? s->inputs : "");
    inq_json_end_object(json);
}

static void write_order(struct inq_json *json, const struct inq_snapshot *s)
{
    if (s->n_order == 0) {
        return;
    }
    inq_json_array(json, "order");
    for (size_t r = 0; r < s->n_order; r++) {
        inq_json_string(json, NULL, s->order[r]);
    }
    inq_json_end_array(json);
}

static void write_findings(struct inq_json *json, const struct inq_snapshot *snapshot)
{
    inq_json_array(json, "findings");
    for (size_t i = 0; i < snapshot->n_findings; i++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "id", snapshot->findings[i].id);
        inq_json_string(json, "severity", inq_severity_text(snapshot->findings[i].severity));
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_rule(struct inq_json *json, enum inq_measure_kind kind,
                       const struct inq_check_rules *rules)
{
    const struct inq_check_rule *rule = &rules->of[kind];
    const struct inq_measure_info *info = inq_measure_info(kind);
    char text[48] = "off";
    if (rule->kind == INQ_RULE_TOLERANCE) {
        (void)snprintf(text, sizeof text, "%.10g%%", rule->value * 100.0);
    } else if (rule->kind == INQ_RULE_LIMIT && info->unit == INQ_UNIT_NS) {
        (void)snprintf(text, sizeof text, "%" PRId64 "ns", (int64_t)rule->value);
    } else if (rule->kind == INQ_RULE_LIMIT) {
        (void)snprintf(text, sizeof text, "%.17g", rule->value);
    } else if (rule->kind == INQ_RULE_DEFAULT) {
        if (kind != INQ_MEASURE_NEW_FINDINGS || !rules->has_severity) {
            return;
        }
        (void)snprintf(text, sizeof text, "%s", inq_severity_text(rules->severity));
    }
    inq_json_string(json, info->name, text);
}

static bool says_nothing(const struct inq_check_rules *rules)
{
    bool any = rules->has_tolerance || rules->has_severity;
    for (int k = 0; k < INQ_MEASURE_COUNT; k++) {
        any = any || rules->of[k].kind != INQ_RULE_DEFAULT;
    }
    return !any;
}

static void write_rules(struct inq_json *json, const struct inq_check_rules *rules)
{
    char text[48];
    if (says_nothing(rules)) {
        return;
    }
    inq_json_object(json, "rules");
    if (rules->has_tolerance) {
        (void)snprintf(text, sizeof text, "%.10g%%", rules->tolerance * 100.0);
        inq_json_string(json, "tolerance", text);
    }
    for (int k = 0; k < INQ_MEASURE_COUNT; k++) {
        write_rule(json, (enum inq_measure_kind)k, rules);
    }
    inq_json_end_object(json);
}

/* The four that old baselines have, and what else was told. */
static void write_times(struct inq_json *json, const struct inq_snapshot *s)
{
    enum { FEW = 4, ALL = sizeof s->times_ns / sizeof *s->times_ns };
    bool few = true;
    for (int i = FEW; i < ALL; i++) {
        few = few && s->times_ns[i] == 0;
    }
    inq_json_array(json, "times_ns");
    for (int i = 0; i < (few ? FEW : ALL); i++) {
        inq_json_int(json, NULL, s->times_ns[i]);
    }
    inq_json_end_array(json);
    if (s->n_stage_times > 0) {
        inq_json_array(json, "stage_times_ns");
        for (size_t i = 0; i < 3 * s->n_stage_times; i++) {
            inq_json_int(json, NULL, s->stage_times_ns[i]);
        }
        inq_json_end_array(json);
    }
    if (s->times_of_run) {
        inq_json_bool(json, "times_of_run", true);
    }
}

static void write_work(struct inq_json *json, const struct inq_workload *work)
{
    if (work->kernels == 0) {
        return;
    }
    inq_json_object(json, "work");
    inq_json_int(json, "kernels", work->kernels);
    inq_json_int(json, "math", work->math);
    inq_json_int(json, "passes", work->passes);
    inq_json_int(json, "replicas", work->replicas);
    if (work->even) {
        inq_json_bool(json, "even", true);
    }
    inq_json_array(json, "items");
    for (size_t i = 0; i < work->n; i++) {
        const struct inq_workload_item *item = &work->items[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "what", item->what);
        inq_json_string(json, "shape", item->shape);
        inq_json_int(json, "count", item->count);
        inq_json_double(json, "share", item->share);
        if (item->math) {
            inq_json_bool(json, "math", true);
        }
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

int inq_baseline_write(const struct inq_snapshot *snapshot, const struct inq_check_rules *rules,
                       struct inq_sink sink, struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    struct inq_json json;
    inq_json_init(&json, &out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", SCHEMA);
    bool schedule = snapshot->subject == INQ_SUBJECT_SCHEDULE;
    inq_json_string(&json, "subject", schedule ? "schedule" : "run");
    write_origin(&json, snapshot);
    inq_json_int(&json, "ranks", snapshot->ranks);
    if (schedule) {
        inq_json_int(&json, "stages", snapshot->stages);
        inq_json_int(&json, "microbatches", snapshot->microbatches);
        write_times(&json, snapshot);
        write_order(&json, snapshot);
    } else {
        if (snapshot->gpu[0] != '\0') {
            inq_json_string(&json, "gpu", snapshot->gpu);
        }
        write_work(&json, &snapshot->work);
    }
    write_measures(&json, snapshot);
    if (!schedule) {
        write_findings(&json, snapshot);
    }
    write_rules(&json, rules);
    inq_json_end_object(&json);
    int code = inq_out_flush(&out, err);
    inq_out_release(&out);
    return code;
}

/* ---- reading ---------------------------------------------------------------------------------*/

static bool is_one_of(const char *key, const char *const *keys)
{
    for (size_t i = 0; keys[i] != NULL; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Every key is known and there once; of a key that is there twice a reader sees only one. */
static int check_keys(const struct cJSON *object, const char *const *keys, const char *where,
                      struct inq_err *err)
{
    for (const struct cJSON *m = inq_json_first(object); m != NULL; m = inq_json_next(m)) {
        const char *key = inq_json_key(m);
        if (!is_one_of(key, keys)) {
            return inq_err_set(err, INQ_FORMAT, "%s has a key '%.60s' that means nothing", where,
                               key);
        }
        if (inq_json_get(object, key) != m) {
            return inq_err_set(err, INQ_FORMAT, "%s has the key '%.60s' twice", where, key);
        }
    }
    return INQ_OK;
}

/* A number from 0 to `max`; `need` false: NaN where it is absent or null. */
static int read_value(const struct cJSON *object, const char *key, double max, bool need,
                      double *value, struct inq_err *err)
{
    *value = inq_json_number(inq_json_get(object, key), (double)NAN);
    bool fine = isfinite(*value) && *value >= 0.0 && *value <= max;
    if (!fine && (need || isfinite(*value))) {
        return inq_err_set(err, INQ_FORMAT, "'%s' must be a number from 0 to %.0f", key, max);
    }
    *value = fine ? *value : (double)NAN;
    return INQ_OK;
}

/* The values of several runs; none: there is one. */
static int read_runs(const struct cJSON *node, struct inq_measure *m, struct inq_err *err)
{
    for (const struct cJSON *v = inq_json_first(node); v != NULL; v = inq_json_next(v)) {
        double value = inq_json_number(v, (double)NAN);
        if (m->n_runs == INQ_POOL_MOST || !(value >= 0.0 && value <= MAX_VALUE)) {
            return inq_err_set(err, INQ_FORMAT, "'runs' holds at most %d numbers from 0 to %.0f",
                               INQ_POOL_MOST, MAX_VALUE);
        }
        m->runs[m->n_runs++] = value;
    }
    return INQ_OK;
}

static int read_measure(const struct cJSON *node, struct inq_snapshot *snapshot,
                        struct inq_err *err)
{
    static const char *const keys[] = {"value", "low", "high", "n", "runs", NULL};
    const char *name = inq_json_key(node);
    size_t len = strlen(name);
    struct inq_measure m = {0};
    double n = 0.0;
    int kind = inq_measure_kind_of(name, len, false);
    if (kind < 0 || kind == INQ_MEASURE_NEW_FINDINGS || len >= INQ_MEASURE_NAME) {
        return inq_err_set(err, INQ_FORMAT, "there is no measure '%.60s'", name);
    }
    if (!inq_json_is_object(node)) {
        return inq_err_set(err, INQ_FORMAT, "measure %s is no object", name);
    }
    int code = check_keys(node, keys, name, err);
    code = code == INQ_OK ? read_value(node, "value", MAX_VALUE, true, &m.value, err) : code;
    code = code == INQ_OK ? read_value(node, "low", MAX_VALUE, false, &m.low, err) : code;
    code = code == INQ_OK ? read_value(node, "high", MAX_VALUE, false, &m.high, err) : code;
    code = code == INQ_OK ? read_value(node, "n", 1e9, false, &n, err) : code;
    code = code == INQ_OK ? read_runs(inq_json_get(node, "runs"), &m, err) : code;
    if (code != INQ_OK) {
        inq_err_prefix(err, "measure %s", name);
        return code;
    }
    if (m.low > m.value || m.high < m.value || isnan(m.low) != isnan(m.high)) {
        return inq_err_set(err, INQ_FORMAT, "measure %s: 'low' and 'high' do not enclose 'value'",
                           name);
    }
    m.n = isfinite(n) ? (uint64_t)n : 0;
    const char *dot = strchr(name, '.');
    return inq_snapshot_add(snapshot, (enum inq_measure_kind)kind, dot != NULL ? dot + 1 : NULL, &m,
                            err);
}

static int read_measures(const struct cJSON *node, struct inq_snapshot *snapshot,
                         struct inq_err *err)
{
    if (!inq_json_is_object(node)) {
        return inq_err_set(err, INQ_FORMAT, "there is no object 'measures'");
    }
    for (const struct cJSON *m = inq_json_first(node); m != NULL; m = inq_json_next(m)) {
        if (inq_snapshot_find(snapshot, inq_json_key(m)) != NULL) {
            return inq_err_set(err, INQ_FORMAT, "the measure '%.60s' is there twice",
                               inq_json_key(m));
        }
        int code = read_measure(m, snapshot, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

static int read_findings(const struct cJSON *node, struct inq_snapshot *snapshot,
                         struct inq_err *err)
{
    static const char *const keys[] = {"id", "severity", NULL};
    for (const struct cJSON *f = inq_json_first(node); f != NULL; f = inq_json_next(f)) {
        const char *id = inq_json_text(inq_json_get(f, "id"), "");
        const char *word = inq_json_text(inq_json_get(f, "severity"), "");
        int severity = INQ_SEVERITY_INFO;
        while (severity <= INQ_SEVERITY_HIGH &&
               strcmp(word, inq_severity_text((enum inq_severity)severity)) != 0) {
            severity++;
        }
        if (id[0] == '\0' || severity > INQ_SEVERITY_HIGH) {
            return inq_err_set(err, INQ_FORMAT,
                               "a finding needs an 'id' and a 'severity' (info, "
                               "low, medium or high)");
        }
        int code = check_keys(f, keys, "a finding", err);
        code = code == INQ_OK
                   ? inq_snapshot_add_finding(snapshot, id, (enum inq_severity)severity, NULL, err)
                   : code;
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

static int read_rules(const struct cJSON *node, struct inq_check_rules *rules, struct inq_err *err)
{
    for (const struct cJSON *r = inq_json_first(node); r != NULL; r = inq_json_next(r)) {
        const char *key = inq_json_key(r);
        const char *limit = inq_json_text(r, NULL);
        char rule[128];
        if (limit == NULL || inq_json_get(node, key) != r) {
            return inq_err_set(err, INQ_FORMAT, "the rule '%.60s' is no text, or there twice", key);
        }
        (void)snprintf(rule, sizeof rule, "%.48s=%.60s", key, limit);
        int code = strcmp(key, "tolerance") == 0 ? inq_check_tolerance_parse(limit, rules, err)
                                                 : inq_check_rule_parse(rule, rules, err);
        if (code != INQ_OK) {
            return INQ_FORMAT;
        }
    }
    return INQ_OK;
}

static int read_size(const struct cJSON *root, const char *key, int32_t *size, struct inq_err *err)
{
    double value = 0.0;
    int code = read_value(root, key, 1e9, true, &value, err);
    *size = code == INQ_OK ? (int32_t)value : 0;
    return code;
}

/* As write_times has it. */
static int read_times(const struct cJSON *root, struct inq_snapshot *s, struct inq_err *err)
{
    enum { FEW = 4, ALL = sizeof s->times_ns / sizeof *s->times_ns };
    const struct cJSON *times = inq_json_get(root, "times_ns");
    const struct cJSON *stages = inq_json_get(root, "stage_times_ns");
    size_t n = inq_json_count(times);
    size_t n_stages = stages == NULL ? 0 : inq_json_count(stages);
    int i = 0;
    if (n != FEW && n != ALL) {
        return inq_err_set(err, INQ_FORMAT, "'times_ns' must hold four numbers, or eight");
    }
    if (stages != NULL && (n_stages == 0 || n_stages % 3 != 0)) {
        return inq_err_set(err, INQ_FORMAT, "'stage_times_ns' must hold three numbers a stage");
    }
    for (const struct cJSON *t = inq_json_first(times); t != NULL && i < ALL;
         t = inq_json_next(t)) {
        s->times_ns[i++] = inq_json_integer(t, -1);
    }
    s->times_of_run = inq_json_get(root, "times_of_run") != NULL;
    s->stage_times_ns = inq_mem_zalloc(n_stages + 1, sizeof *s->stage_times_ns);
    if (s->stage_times_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a baseline");
    }
    size_t k = 0;
    for (const struct cJSON *t = inq_json_first(stages); t != NULL && k < n_stages;
         t = inq_json_next(t)) {
        s->stage_times_ns[k++] = inq_json_integer(t, -1);
    }
    s->n_stage_times = n_stages / 3;
    return INQ_OK;
}

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = inq_mem_alloc(size);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

/* Said to people only: nothing rests on it. */
static int read_origin(const struct cJSON *node, struct inq_snapshot *s, struct inq_err *err)
{
    static const char *const keys[] = {"version", "command", "inputs", NULL};
    if (node == NULL) {
        return INQ_OK;
    }
    int code = check_keys(node, keys, "'made'", err);
    if (code != INQ_OK) {
        return code;
    }
    s->command = copy_text(inq_json_text(inq_json_get(node, "command"), ""));
    s->inputs = copy_text(inq_json_text(inq_json_get(node, "inputs"), ""));
    return s->command != NULL && s->inputs != NULL
               ? INQ_OK
               : inq_err_set(err, INQ_NOMEM, "out of memory for a baseline");
}

static int read_order(const struct cJSON *node, struct inq_snapshot *s, struct inq_err *err)
{
    size_t n = node == NULL ? 0 : inq_json_count(node);
    if (node != NULL && n != (size_t)s->ranks) {
        return inq_err_set(err, INQ_FORMAT, "'order' must hold a text for each rank");
    }
    s->order = inq_mem_zalloc(n + 1, sizeof *s->order);
    if (s->order == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a baseline");
    }
    for (const struct cJSON *row = inq_json_first(node); row != NULL && s->n_order < n;
         row = inq_json_next(row)) {
        char *text = copy_text(inq_json_text(row, ""));
        if (text == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for a baseline");
        }
        s->order[s->n_order++] = text;
    }
    return INQ_OK;
}

static int read_count(const struct cJSON *node, const char *key, int64_t *count,
                      struct inq_err *err)
{
    double value = 0.0;
    int code = read_value(node, key, MAX_VALUE, true, &value, err);
    *count = code == INQ_OK ? (int64_t)value : 0;
    return code;
}

static int read_item(const struct cJSON *node, struct inq_workload_item *item, struct inq_err *err)
{
    static const char *const keys[] = {"what", "shape", "count", "share", "math", NULL};
    int code = check_keys(node, keys, "an item of 'work'", err);
    (void)snprintf(item->what, sizeof item->what, "%s",
                   inq_json_text(inq_json_get(node, "what"), ""));
    (void)snprintf(item->shape, sizeof item->shape, "%s",
                   inq_json_text(inq_json_get(node, "shape"), ""));
    item->math = inq_json_get(node, "math") != NULL;
    code = code == INQ_OK ? read_count(node, "count", &item->count, err) : code;
    return code == INQ_OK ? read_value(node, "share", 1.0, true, &item->share, err) : code;
}

static int read_work(const struct cJSON *node, struct inq_workload *work, struct inq_err *err)
{
    static const char *const keys[] = {"kernels", "math",  "passes", "replicas",
                                       "even",    "items", NULL};
    if (node == NULL) {
        return INQ_OK;
    }
    const struct cJSON *items = inq_json_get(node, "items");
    int code = check_keys(node, keys, "'work'", err);
    code = code == INQ_OK ? read_count(node, "kernels", &work->kernels, err) : code;
    code = code == INQ_OK ? read_count(node, "math", &work->math, err) : code;
    code = code == INQ_OK ? read_size(node, "passes", &work->passes, err) : code;
    code = code == INQ_OK ? read_size(node, "replicas", &work->replicas, err) : code;
    work->even = inq_json_get(node, "even") != NULL;
    for (const struct cJSON *i = inq_json_first(items);
         code == INQ_OK && i != NULL && work->n < INQ_WORKLOAD_MOST; i = inq_json_next(i)) {
        code = read_item(i, &work->items[work->n++], err);
    }
    return code;
}

static int read_schedule(const struct cJSON *root, struct inq_snapshot *s, struct inq_err *err)
{
    int code = read_size(root, "stages", &s->stages, err);
    if (code == INQ_OK) {
        code = read_size(root, "microbatches", &s->microbatches, err);
    }
    if (code == INQ_OK) {
        code = read_times(root, s, err);
    }
    return code == INQ_OK ? read_order(inq_json_get(root, "order"), s, err) : code;
}

static int read_document(const struct cJSON *root, struct inq_baseline *baseline,
                         struct inq_err *err)
{
    static const char *const keys[] = {"schema",       "subject",  "ranks",    "stages",
                                       "microbatches", "times_ns", "measures", "stage_times_ns",
                                       "times_of_run", "findings", "rules",    "made",
                                       "order",        "work",     "gpu",      NULL};
    struct inq_snapshot *s = &baseline->snapshot;
    const char *schema = inq_json_text(inq_json_get(root, "schema"), "");
    const char *subject = inq_json_text(inq_json_get(root, "subject"), "");
    if (strcmp(schema, SCHEMA) != 0) {
        return inq_err_set(err, INQ_FORMAT, "it is no baseline: 'schema' is '%.60s', not %s",
                           schema, SCHEMA);
    }
    bool schedule = strcmp(subject, "schedule") == 0;
    if (!schedule && strcmp(subject, "run") != 0) {
        return inq_err_set(err, INQ_FORMAT, "'subject' must be run or schedule");
    }
    s->subject = schedule ? INQ_SUBJECT_SCHEDULE : INQ_SUBJECT_RUN;
    int code = check_keys(root, keys, "the baseline", err);
    code = code == INQ_OK ? read_size(root, "ranks", &s->ranks, err) : code;
    code = code == INQ_OK ? read_origin(inq_json_get(root, "made"), s, err) : code;
    code = code == INQ_OK && schedule ? read_schedule(root, s, err) : code;
    code =
        code == INQ_OK && !schedule ? read_work(inq_json_get(root, "work"), &s->work, err) : code;
    (void)snprintf(s->gpu, sizeof s->gpu, "%s", inq_json_text(inq_json_get(root, "gpu"), ""));
    code = code == INQ_OK ? read_measures(inq_json_get(root, "measures"), s, err) : code;
    code = code == INQ_OK ? read_findings(inq_json_get(root, "findings"), s, err) : code;
    return code == INQ_OK ? read_rules(inq_json_get(root, "rules"), &baseline->rules, err) : code;
}

int inq_baseline_read(const char *text, size_t len, struct inq_baseline *baseline,
                      struct inq_err *err)
{
    static const size_t max_bytes = (size_t)16 << 20;
    struct cJSON *root = NULL;
    *baseline = (struct inq_baseline){0};
    if (len > max_bytes) {
        return inq_err_set(err, INQ_LIMIT, "%zu bytes are too many for a baseline", len);
    }
    int code = inq_json_parse(text, len, &root, err);
    if (code == INQ_OK) {
        code = read_document(root, baseline, err);
    }
    inq_json_free(root);
    return code;
}
