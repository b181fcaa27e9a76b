/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic runs read back: what the model finds is what was simulated. */
#include "inquest/synth.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

struct sample {
    struct inq_synth *synth;
    struct inq_run *run;
    const struct inq_trace *trace; /* the only job */
    const struct inq_synth_truth *truth;
};

static struct sample open_sample(const char *text, bool align)
{
    struct sample sample = {0};
    struct inq_synth_spec spec;
    struct inq_err err = {0};
    if (inq_synth_spec_parse(text, &spec, &err) != INQ_OK ||
        inq_synth_new(&spec, &sample.synth, &err) != INQ_OK ||
        inq_synth_ingest(sample.synth, align, 2, &sample.run, &err) != INQ_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_int_equal(sample.run->n_traces, 1);
    assert_int_equal(sample.run->n_skipped, 0);
    sample.trace = sample.run->traces[0];
    sample.truth = inq_synth_truth(sample.synth);
    return sample;
}

static void close_sample(struct sample *sample)
{
    inq_run_free(sample->run);
    inq_synth_free(sample->synth);
}

static int64_t start_of(const struct inq_trace *trace, const struct inq_member *member)
{
    return trace->ranks[member->rank].events.start_ns[member->event];
}

/* Sum over the matched collectives of what the rank waited for the last to arrive. */
static int64_t wait_of(const struct inq_trace *trace, uint32_t rank, uint64_t *count)
{
    int64_t wait = 0;
    *count = 0;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *collective = &trace->collectives[i];
        const struct inq_member *members = &trace->members[collective->first_member];
        int64_t last = INT64_MIN;
        int64_t own = INT64_MIN;
        for (uint32_t m = 0; m < collective->n_members; m++) {
            int64_t start = start_of(trace, &members[m]);
            last = start > last ? start : last;
            own = members[m].rank == rank ? start : own;
        }
        if (own != INT64_MIN) {
            wait += last - own;
            (*count)++;
        }
    }
    return wait;
}

static void ingest__ranks_and_files_come_out(void **state)
{
    (void)state;
    struct sample sample = open_sample("dp=4,steps=4,layers=3,fault=missing_rank:rank=2", true);
    const struct inq_trace *trace = sample.trace;
    assert_int_equal(trace->world_size, 4);
    assert_int_equal(trace->n_ranks, 3);
    assert_int_equal(trace->n_missing, 1);
    assert_int_equal(trace->missing[0], 2);
    for (size_t i = 0; i < trace->n_files; i++) {
        assert_string_equal(trace->files[i].format, "kineto");
        assert_int_equal(inq_damage_total(&trace->files[i].damage), 0);
    }
    close_sample(&sample);
}

static void ingest__steps_are_the_simulated_ones(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=4,steps=5,layers=4,first_step=3,fault=late_host:rank=1:delay=4ms:from=2:to=2",
        "dp=1,pp=4,micro_batches=6,steps=3,first_step=3",
        "dp=2,steps=4,layers=3,first_step=3,ts=abs,args=old,cpu_ops=0",
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct sample sample = open_sample(specs[i], true);
        const struct inq_trace *trace = sample.trace;
        assert_int_equal(trace->n_steps, sample.truth->n_steps);
        assert_false(trace->steps_inferred);
        for (size_t step = 1; step < trace->n_steps; step++) {
            int64_t dur_ns = trace->steps[step].end_ns - trace->steps[step - 1].end_ns;
            assert_int_equal(trace->steps[step].number, 3 + (int64_t)step);
            assert_in_range(llabs(dur_ns - sample.truth->step_ns[step]), 0, 2000);
        }
        close_sample(&sample);
    }
}

static void ingest__every_transfer_is_matched_and_every_wait_is_the_true_one(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=4,steps=3,layers=4,fault=slow_gpu:rank=3",
        "dp=4,steps=3,layers=4,sharded=1,fault=late_host:rank=1",
        "dp=2,tp=2,steps=3,layers=3,args=seq",
        "dp=1,pp=4,micro_batches=6,steps=3,fault=long_last_stage",
        "dp=2,pp=2,micro_batches=4,steps=3,chunks=2,layers=4",
        "dp=4,steps=3,layers=4,args=old",
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct sample sample = open_sample(specs[i], false);
        assert_int_equal(sample.trace->unmatched_comms, 0);
        for (uint32_t rank = 0; rank < sample.trace->n_ranks; rank++) {
            const struct inq_synth_truth_rank *truth = &sample.truth->ranks[rank];
            uint64_t count = 0;
            int64_t wait = wait_of(sample.trace, rank, &count);
            if (count != truth->collectives || wait != truth->wait_ns) {
                fail_msg("%s: rank %u waits %lld ns in %llu transfers, in truth %lld in %llu",
                         specs[i], rank, (long long)wait, (unsigned long long)count,
                         (long long)truth->wait_ns, (unsigned long long)truth->collectives);
            }
        }
        close_sample(&sample);
    }
}

static void ingest__clocks_are_put_right(void **state)
{
    (void)state;
    struct sample sample =
        open_sample("dp=8,gpus_per_host=2,steps=5,layers=4,clock=1ms,"
                    "fault=clock_offset:host=2:offset=-40ms,fault=clock_drift:host=3:ppm=30",
                    true);
    const struct inq_rank *first = &sample.trace->ranks[0];
    for (size_t i = 0; i < sample.trace->n_ranks; i++) {
        const struct inq_synth_truth_rank *truth = &sample.truth->ranks[i];
        const struct inq_clock *clock = &sample.trace->ranks[i].clock;
        int64_t true_ns = truth->clock_offset_ns - sample.truth->ranks[0].clock_offset_ns;
        int64_t found_ns = first->clock.offset_ns - clock->offset_ns;
        assert_true(clock->aligned);
        /* ends of one collective spread over 2 us; the drift of 30 ppm makes 2 us in 60 ms */
        assert_in_range(llabs(found_ns - true_ns), 0, 8000);
    }
    close_sample(&sample);
}

static void ingest__two_bases_are_one_time(void **state)
{
    (void)state;
    struct sample sample = open_sample("dp=4,steps=3,layers=2,ts=split", false);
    uint64_t count = 0;
    assert_int_equal(wait_of(sample.trace, 1, &count), sample.truth->ranks[1].wait_ns);
    assert_int_equal(count, 3 * 2);
    close_sample(&sample);
}

static void ingest__windows_cut_anywhere_still_match(void **state)
{
    (void)state;
    struct sample sample = open_sample("dp=4,steps=6,layers=4,window=ragged,seed=5", false);
    const struct inq_trace *trace = sample.trace;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *collective = &trace->collectives[i];
        const struct inq_member *members = &trace->members[collective->first_member];
        for (uint32_t m = 1; m < collective->n_members; m++) {
            /* A wrong match would be off by a whole bucket, half a millisecond. */
            const struct inq_events *a = &trace->ranks[members[0].rank].events;
            const struct inq_events *b = &trace->ranks[members[m].rank].events;
            int64_t end_a = a->start_ns[members[0].event] + a->dur_ns[members[0].event];
            int64_t end_b = b->start_ns[members[m].event] + b->dur_ns[members[m].event];
            assert_in_range(llabs(end_a - end_b), 0, 5000);
        }
    }
    assert_true(trace->n_collectives >= 4 * 4);
    close_sample(&sample);
}

static void ingest__a_cut_file_is_counted_and_kept(void **state)
{
    (void)state;
    struct sample sample = open_sample("dp=3,steps=4,layers=3,fault=cut_file:rank=1:at=0.8", true);
    const struct inq_trace *trace = sample.trace;
    assert_int_equal(trace->n_ranks, 3);
    for (size_t i = 0; i < trace->n_files; i++) {
        const struct inq_damage *damage = &trace->files[i].damage;
        bool cut = strstr(trace->files[i].path, "rank-1") != NULL;
        assert_int_equal(damage->count[INQ_DAMAGE_TRUNCATED_GZIP] > 0, cut);
    }
    assert_true(trace->ranks[1].events.n > 50);
    assert_true(trace->ranks[1].events.n < trace->ranks[0].events.n);
    close_sample(&sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ingest__ranks_and_files_come_out),
        cmocka_unit_test(ingest__steps_are_the_simulated_ones),
        cmocka_unit_test(ingest__every_transfer_is_matched_and_every_wait_is_the_true_one),
        cmocka_unit_test(ingest__clocks_are_put_right),
        cmocka_unit_test(ingest__two_bases_are_one_time),
        cmocka_unit_test(ingest__windows_cut_anywhere_still_match),
        cmocka_unit_test(ingest__a_cut_file_is_counted_and_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
