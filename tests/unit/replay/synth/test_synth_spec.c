/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of specs. */
#include "inquest/synth.h"

#include "inquest/out.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void spec__defaults_are_a_healthy_run(void **state)
{
    (void)state;
    struct inq_synth_spec spec;
    assert_int_equal(inq_synth_spec_parse("", &spec, NULL), INQ_OK);
    assert_int_equal(spec.dp, 4);
    assert_int_equal(spec.micro_batches, 1);
    assert_int_equal(spec.layers, 8);
    assert_int_equal(spec.n_faults, 0);
}

static void spec__reads_every_kind_of_value(void **state)
{
    (void)state;
    struct inq_synth_spec spec;
    struct inq_err err = {0};
    const char *text = "dp=2,pp=4,micro_batches=12,seed=18446744073709551615,layer=1.5ms,op=7,"
                       "sigma=0.125,args=seq,ts=abs,window=ragged,gz=0,"
                       "fault=late_host:rank=3:mode=gc:delay=20ms:every=2:from=1:to=4,"
                       "fault=slow_link:rank=1:peer=3:links=pp:factor=2.5,"
                       "fault=clock_offset:host=0:offset=-3ms";
    assert_int_equal(inq_synth_spec_parse(text, &spec, &err), INQ_OK);
    assert_int_equal(spec.pp, 4);
    assert_true(spec.seed == UINT64_MAX);
    assert_int_equal(spec.layer_ns, 1500000);
    assert_int_equal(spec.op_ns, 7000); /* a bare number is in us */
    assert_int_equal(spec.args, INQ_SYNTH_ARGS_SEQ);
    assert_int_equal(spec.ts, INQ_SYNTH_TS_ABS);
    assert_int_equal(spec.n_faults, 3);
    assert_int_equal(spec.faults[0].kind, INQ_SYNTH_LATE_HOST);
    assert_int_equal(spec.faults[0].mode, INQ_SYNTH_MODE_GC);
    assert_int_equal(spec.faults[0].delay_ns, 20000000);
    assert_int_equal(spec.faults[0].every, 2);
    assert_int_equal(spec.faults[1].links, INQ_SYNTH_LINKS_PP);
    assert_int_equal(spec.faults[1].peer, 3);
    assert_int_equal(spec.faults[2].offset_ns, -3000000);
}

static void spec__written_text_reads_back_the_same(void **state)
{
    (void)state;
    const char *const texts[] = {
        "dp=2,pp=4,sigma=0.1,clock=333ns,fault=slow_gpu:rank=2:factor=1.07",
        "tp=2,names=handler,p2p=bare,fault=uneven_seq:sigma=0.45,fault=cut_file:rank=0:at=0.3",
        "dp=16,link_sigma=0.0333333333333333333,fault=clock_drift:rank=3:ppm=-12.5",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct inq_synth_spec spec;
        struct inq_synth_spec again;
        struct inq_out out = {0};
        struct inq_sink sink = inq_out_sink(&out);
        assert_int_equal(inq_synth_spec_parse(texts[i], &spec, NULL), INQ_OK);
        assert_int_equal(inq_synth_spec_write(&spec, sink, NULL), INQ_OK);
        assert_int_equal(inq_synth_spec_parse(out.buf, &again, NULL), INQ_OK);
        assert_memory_equal(&spec, &again, sizeof spec);
        inq_out_release(&out);
    }
}

static void spec__says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *about;
    } bad[] = {
        {"dp", "KEY=VALUE"},
        {"=4", "KEY=VALUE"},
        {"ranks=4", "unknown key \"ranks\""},
        {"dp=0", "from 1"},
        {"dp=2.5", "whole number"},
        {"dp=4x", "whole number"},
        {"layer=soon", "layer"},
        {"seed=-1", "seed"},
        {"args=newest", "new|old|seq"},
        {"dp=1025,tp=64", "65536"},
        {"pp=4,layers=3", "layers"},
        {"chunks=2", "chunks"},
        {"fault=slow", "unknown fault"},
        {"fault=slow_gpu", "needs rank="},
        {"fault=slow_gpu:rank=2:last=1", "must not be below rank="},
        {"dp=2,fault=slow_gpu:rank=0:last=2", "the last rank is 1"},
        {"fault=uneven_experts", "needs experts=1"},
        {"tp=2,experts=1", "not with tp"},
        {"pp=2,p2p=batched,early_recv=1", "not with chunks or early_recv"},
        {"fault=slow_gpu:rank=4", "last rank is 3"},
        {"fault=slow_gpu:rank=1:speed=3", "unknown key \"speed\""},
        {"fault=slow_gpu:rank=1:mode=gc", "mode"},
        {"fault=long_last_stage", "pipeline"},
        {"fault=more_work:rank=1:factor=0.5", "factor"},
    };
    struct inq_synth_spec largest;
    assert_int_equal(inq_synth_spec_parse("dp=1024,tp=64", &largest, NULL), INQ_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct inq_synth_spec spec;
        struct inq_err err = {0};
        assert_int_equal(inq_synth_spec_parse(bad[i].text, &spec, &err), INQ_USAGE);
        if (strstr(err.message, bad[i].about) == NULL) {
            fail_msg("\"%s\" gave \"%s\", without \"%s\"", bad[i].text, err.message, bad[i].about);
        }
    }
}

static void spec__json_says_the_same_as_text(void **state)
{
    (void)state;
    static const char json[] =
        "{\"dp\": 8, \"layer\": \"1ms\", \"args\": \"old\", \"sigma\": 0.05,\n"
        " \"faults\": [{\"kind\": \"slow_gpu\", \"rank\": 2, \"factor\": 1.25},\n"
        "             {\"kind\": \"late_host\", \"rank\": 1, \"delay\": \"2ms\"}]}\n";
    char path[] = "synth_spec_XXXXXX.json";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, sizeof json - 1), sizeof json - 1);
    assert_int_equal(close(fd), 0);
    struct inq_synth_spec spec;
    struct inq_synth_spec same;
    struct inq_err err = {0};
    int code = inq_synth_spec_parse(path, &spec, &err);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(code, INQ_OK);
    assert_int_equal(inq_synth_spec_parse("dp=8,layer=1ms,args=old,sigma=0.05,"
                                          "fault=slow_gpu:rank=2:factor=1.25,"
                                          "fault=late_host:rank=1:delay=2ms",
                                          &same, NULL),
                     INQ_OK);
    assert_memory_equal(&spec, &same, sizeof spec);
    assert_int_equal(inq_synth_spec_parse("no_such_spec.json", &spec, &err), INQ_NOT_FOUND);
}

static void spec__help_names_every_fault(void **state)
{
    (void)state;
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    assert_int_equal(inq_synth_help(sink, NULL), INQ_OK);
    static const char *const kinds[] = {
#define KIND(name, text, finding, what) text,
        INQ_SYNTH_FAULTS(KIND)
#undef KIND
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_non_null(strstr(out.buf, kinds[i]));
    }
    inq_out_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spec__defaults_are_a_healthy_run),
        cmocka_unit_test(spec__reads_every_kind_of_value),
        cmocka_unit_test(spec__written_text_reads_back_the_same),
        cmocka_unit_test(spec__says_what_is_wrong),
        cmocka_unit_test(spec__json_says_the_same_as_text),
        cmocka_unit_test(spec__help_names_every_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
