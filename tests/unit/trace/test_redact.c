/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the names and texts of a run. */
#include "inquest/log.h"
#include "inquest/redact.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/strtab.h"

#include <string.h>

/* A run of one log with one line, of which the host and the users are told elsewhere. */
struct small {
    struct inq_arena arena;
    struct inq_strtab names;
    struct inq_log_event events[2];
    struct inq_log log, *logs[1];
    struct inq_trace trace, *traces[1];
    struct inq_run run;
};

static void make(struct small *s, const char *text)
{
    *s = (struct small){0};
    s->events[0] =
        (struct inq_log_event){.host = "node-7", .text = "/home/zelda/x and user=otto, 3"};
    s->events[1] = (struct inq_log_event){.host = "", .text = text};
    s->log = (struct inq_log){.n_events = 2, .events = s->events};
    s->logs[0] = &s->log;
    s->trace =
        (struct inq_trace){.arena = &s->arena, .names = &s->names, .n_logs = 1, .logs = s->logs};
    s->traces[0] = &s->trace;
    s->run = (struct inq_run){.arena = &s->arena, .n_traces = 1, .traces = s->traces};
}

static void release(struct small *s)
{
    inq_strtab_release(&s->names);
    inq_arena_release(&s->arena);
}

/* The hashes are of an implementation that was held against SipHash's own vectors. */
static void redact__tokens_are_siphash(void **state)
{
    (void)state;
    struct small s;
    struct inq_err err = {0};
    struct inq_redaction *r;
    make(&s, "zelda, zelda");
    assert_int_equal(inq_redaction_new("a secret", 8, &r, &err), INQ_OK);
    assert_int_equal(inq_redaction_apply(r, &s.run, &err), INQ_OK);
    assert_string_equal(s.events[0].host, "host-4d13088dd058");
    assert_string_equal(s.events[1].host, "");
    assert_string_equal(s.events[1].text, "user-25f8cd75e427, user-25f8cd75e427");
    assert_int_equal(inq_redaction_count(r, INQ_REDACT_HOST), 1);
    assert_int_equal(inq_redaction_count(r, INQ_REDACT_USER), 2);
    assert_int_equal(inq_redaction_count(r, INQ_REDACT_KERNEL), 0);
    inq_redaction_free(r);
    release(&s);
}

/* The text with # for each hash; false: memory was out. */
static bool shape_of(const char *text, char *shape, size_t size)
{
    struct small s;
    struct inq_err err = {0};
    struct inq_redaction *r = NULL;
    size_t n = 0;
    make(&s, text);
    int code = inq_redaction_new(NULL, 0, &r, &err);
    code = code == INQ_OK ? inq_redaction_apply(r, &s.run, &err) : code;
    assert_true(code == INQ_OK || code == INQ_NOMEM);
    for (const char *p = s.events[1].text; *p != '\0' && n + 1 < size;) {
        size_t digits = strspn(p, "0123456789abcdef");
        bool hash = digits == 12 && p > s.events[1].text && p[-1] == '-';
        shape[n++] = hash ? '#' : *p;
        p += hash ? digits : 1;
    }
    shape[n] = '\0';
    inq_redaction_free(r);
    release(&s);
    return code == INQ_OK;
}

static void redact__texts_lose_their_names(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", ""},
        {"at node-7, node-7.cluster.example and node-70.", "at host-#, host-# and node-70."},
        {"by zelda (otto@far-off) not zeldas", "by user-# (user-#@host-#) not zeldas"},
        {"File \"/home/zelda/train.py\", line 3", "File \"/path-#/path-#/path-#.py\", line 3"},
        {"wrote ~/run/a.trace.json.gz.", "wrote ~/path-#/path-#.trace.json.gz."},
        {"../x/y and model.py(12)", "../path-#/path-# and path-#.py(12)"},
        {"in runs/secret/3, x/y.py", "in path-#/path-#/path-#, path-#/path-#.py"},
        {"to 10.0.0.12:29500 or fe80::a:1%2", "to host-#:29500 or host-#%2"},
        /* no names */
        {"08:00:00.123 1/2 of 3 kB/s, 0000:3b:00.0, v2.1.0",
         "08:00:00.123 1/2 of 3 kB/s, 0000:3b:00.0, v2.1.0"},
        {"aten::add c10::cuda std::abs(/)", "aten::add c10::cuda std::abs(/)"},
    };
    char shape[256];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(shape_of(rows[i][0], shape, sizeof shape));
        assert_string_equal(shape, rows[i][1]);
    }
}

static void redact__no_memory_is_said(void **state)
{
    (void)state;
    char shape[256];
    bool done = false;
    for (long nth = 1; !done; nth++) {
        (void)inq_mem_fail_after(nth);
        done = shape_of("see /home/zelda/src and 10.0.0.1", shape, sizeof shape);
        (void)inq_mem_fail_after(0);
        assert_true(nth < 1000);
    }
    assert_null(strstr(shape, "zelda"));
}

/* What a kernel is, analyses know by its name. */
static void redact__kernels_keep_their_class(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "_ncclDevKernel_AllReduce"},
        {"ncclDevKernel_SendRecv(x)", "_ncclDevKernel_SendRecv"},
        {"sm90_xmma_gemm_bf16_tn", "_gemm"},
        {"flash_fwd_kernel", "_gemm"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct small s;
        struct inq_err err = {0};
        struct inq_redaction *r;
        inq_str name;
        uint8_t kind = INQ_EVENT_KERNEL;
        make(&s, "");
        struct inq_lane lane = {.kind = INQ_LANE_STREAM};
        uint32_t first = 0;
        struct inq_rank rank = {.rank = 0, .n_lanes = 1, .lanes = &lane};
        assert_int_equal(inq_strtab_add(&s.names, rows[i][0], strlen(rows[i][0]), &name, &err),
                         INQ_OK);
        rank.events = (struct inq_events){.n = 1, .name = &name, .kind = &kind, .lane = &first};
        s.trace.n_ranks = 1;
        s.trace.ranks = &rank;
        assert_int_equal(inq_redaction_new("k", 1, &r, &err), INQ_OK);
        assert_int_equal(inq_redaction_apply(r, &s.run, &err), INQ_OK);
        const char *is = inq_trace_str(&s.trace, name);
        assert_memory_equal(is, "kernel-", 7);
        assert_string_equal(is + strlen("kernel-000000000000"), rows[i][1]);
        assert_int_equal(inq_redaction_count(r, INQ_REDACT_KERNEL), 1);
        inq_redaction_free(r);
        release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redact__tokens_are_siphash),
        cmocka_unit_test(redact__texts_lose_their_names),
        cmocka_unit_test(redact__no_memory_is_said),
        cmocka_unit_test(redact__kernels_keep_their_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
