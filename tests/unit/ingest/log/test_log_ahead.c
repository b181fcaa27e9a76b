/* SPDX-License-Identifier: Apache-2.0 */
/* A log whose words are searched ahead by a second thread is read as one that is not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "support_trace.h"

#include "ingest/ingest.h"
#include "inquest/log.h"
#include "trace/build/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *p;
    size_t n, cap;
};

static void add(struct text *text, const char *line)
{
    size_t n = strlen(line);
    if (text->n + n + 1 > text->cap) {
        text->cap = 2 * (text->n + n + 1);
        text->p = realloc(text->p, text->cap);
        assert_non_null(text->p);
    }
    memcpy(text->p + text->n, line, n + 1);
    text->n += n;
}

/* Output of training or of none, with a line that tells something now and then. */
static struct text make_log(bool training, size_t bytes, uint64_t seed)
{
    static const char *const tellings[] = {
        "[rank3]: RuntimeError: shard 4 is torn\n",
        "node-0:11:22 [0] NCCL INFO transport/net.cc:34 -> 2\n",
        "node-0:11:22 [0] NCCL INFO Channel 00/0 : 2[0] -> 3[1] via P2P\n",
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=77, GPU has fallen off the bus.\n",
        "[2026-01-02 03:04:05] ERROR rank 2 cannot go on\n",
        "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT\n",
    };
    struct text text = {0};
    char line[160];
    for (uint64_t step = 0; text.n < bytes; step++) {
        uint64_t random = test_random(&seed);
        if (random % 997 == 0) {
            add(&text, tellings[random / 997 % (sizeof tellings / sizeof *tellings)]);
        }
        (void)snprintf(line, sizeof line, training ? "step %llu loss %u.%03u\n" : "%llu: %x %x\n",
                       (unsigned long long)step, (unsigned)(random % 7), (unsigned)(random % 1000));
        add(&text, line);
    }
    return text;
}

static void read_log(const struct text *text, struct inq_source_options options,
                     struct inq_shard *shard)
{
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    *shard = (struct inq_shard){.file = {.path = "train.log", .reason = ""}};
    assert_int_equal(inq_source_open_memory(text->p, text->n, &options, &source, &err), INQ_OK);
    assert_int_equal(inq_reader_log.read(source, shard, &err), INQ_OK);
    inq_source_close(source);
    assert_non_null(shard->log);
}

static void assert_same_log(const struct inq_log *a, const struct inq_log *b)
{
    assert_int_equal(a->lines, b->lines);
    assert_int_equal(a->not_kept, b->not_kept);
    assert_int_equal(a->sampled, b->sampled);
    assert_int_equal(a->n_events, b->n_events);
    for (size_t i = 0; i < a->n_events; i++) {
        assert_int_equal(a->events[i].kind, b->events[i].kind);
        assert_int_equal(a->events[i].line, b->events[i].line);
        assert_int_equal(a->events[i].count, b->events[i].count);
        assert_string_equal(a->events[i].text, b->events[i].text);
    }
    assert_int_equal(a->n_metrics, b->n_metrics);
    for (size_t i = 0; i < a->n_metrics; i++) {
        assert_int_equal(a->metrics[i].step, b->metrics[i].step);
        assert_int_equal(a->metrics[i].line, b->metrics[i].line);
    }
}

static void log_ahead__a_log_is_read_as_without(void **state)
{
    (void)state;
    static const size_t chunks[] = {0, 100000, 4096};
    for (int way = 0; way < 6; way++) {
        struct text text = make_log(way % 2 == 0, (size_t)3 << 20, (uint64_t)way + 1);
        struct inq_shard ahead;
        struct inq_shard alone;
        size_t chunk = chunks[way / 2];
        read_log(&text, (struct inq_source_options){.chunk_size = chunk}, &alone);
        read_log(&text, (struct inq_source_options){.chunk_size = chunk, .threaded = true}, &ahead);
        assert_true(alone.log->n_events > 5 && alone.log->sampled == (way % 2 == 0));
        assert_same_log(ahead.log, alone.log);
        inq_shard_release(&ahead);
        inq_shard_release(&alone);
        free(text.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_ahead__a_log_is_read_as_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
