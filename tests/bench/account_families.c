/* SPDX-License-Identifier: Apache-2.0 */
#include "account_families.h"

#include "evened_step.h"

#include <string.h>

#define FIVE(before, a, b, c, d, e, after)                                                         \
    {                                                                                              \
        before a after, before b after, before c after, before d after, before e after             \
    }

const struct family families[FAMILIES] = {
    {"healthy", "", "", false, {"", "", "", "", ""}},
    {"noise", "", "", false,
     FIVE("fault=jitter:sigma=", "0.02", "0.03", "0.05", "0.06", "0.08", "")},
    {"slow_gpu", "slow_gpu", "", false,
     FIVE("fault=slow_gpu:rank=%d:factor=", "1.02", "1.05", "1.1", "1.2", "1.4", "")},
    {"low_clock", "slow_gpu", "", false,
     FIVE("fault=low_clock:rank=%d:factor=", "1.03", "1.06", "1.12", "1.2", "1.4", "")},
    {"more_work_size", "more_work stage_imbalance slow_last_stage", "", false,
     FIVE("fault=more_work:mode=size:rank=%d:factor=", "1.03", "1.06", "1.1", "1.2", "1.4", "")},
    {"more_work_count", "more_work stage_imbalance slow_last_stage", "", false,
     FIVE("fault=more_work:rank=%d:factor=", "1.05", "1.1", "1.15", "1.25", "1.4", "")},
    {"late_data", "late_host", "", false,
     FIVE("fault=late_host:rank=%d:delay=", "1ms", "2ms", "4ms", "8ms", "16ms", "")},
    {"late_host", "late_host", "", false,
     FIVE("fault=late_host:mode=pause:rank=%d:delay=", "1ms", "2ms", "4ms", "8ms", "16ms", "")},
    {"slow_host_code", "late_host", "", false,
     FIVE("fault=late_host:mode=launch:rank=%d:factor=", "2", "4", "8", "12", "16", "")},
    {"slow_link", "slow_link", "p", false,
     FIVE("fault=slow_link:links=pp:rank=%d:factor=", "2", "4", "6", "10", "16", "")},
    {"slow_host", "slow_gpu", "h", false,
     FIVE("fault=slow_gpu:host=1:factor=", "1.05", "1.12", "1.15", "1.2", "1.3", "")},
    {"low_clock_host", "slow_gpu", "h", false,
     FIVE("fault=low_clock:host=1:factor=", "1.06", "1.12", "1.15", "1.2", "1.3", "")},
    {"two_slow_gpus", "slow_gpu", "", false,
     FIVE("fault=slow_gpu:rank=%d:last=%d:factor=", "1.05", "1.1", "1.15", "1.2", "1.3",
          ":stride=2")},
    {"half_the_job", "slow_gpu", "", false,
     FIVE("fault=slow_gpu:rank=0:last=7:stride=2:factor=", "1.05", "1.1", "1.15", "1.2", "1.3",
          "")},
    {"slow_gpu_and_late_host", "slow_gpu late_host", "", false,
     FIVE("fault=slow_gpu:rank=%d:factor=", "1.05", "1.1", "1.15", "1.2", "1.3",
          ",fault=late_host:rank=0:delay=6ms:mode=pause:every=2")},
    {"every_fifth_step", "slow_gpu", "", false,
     FIVE("fault=slow_gpu:every=5:rank=%d:factor=", "1.1", "1.2", "1.3", "1.5", "2", "")},
    {"one_step", "late_host", "", false,
     FIVE("fault=late_host:mode=pause:from=3:to=3:rank=%d:delay=", "5ms", "10ms", "20ms", "40ms",
          "80ms", "")},
    {"gc_rotates", "unplanned_gc late_host", "", true,
     FIVE("fault=gc:every=5:delay=", "2ms", "4ms", "8ms", "16ms", "32ms", "")},
    {"uneven_experts", "expert_imbalance sequence_imbalance more_work", "e", true,
     FIVE("fault=uneven_experts:sigma=", "0.05", "0.1", "0.2", "0.3", "0.5", "")},
    {"uneven_sequences", "sequence_imbalance more_work", "", true,
     FIVE("fault=uneven_seq:sigma=", "0.05", "0.1", "0.2", "0.3", "0.5", "")},
    {"long_last_stage", "slow_last_stage stage_imbalance", "p", false,
     FIVE("fault=long_last_stage:factor=", "1.05", "1.1", "1.2", "1.3", "1.5", "")},
    {"one_micro_batch", "pipeline_bubble", "p", true,
     FIVE("micro_batches=", "1", "1", "1", "1", "1", "")},
    {"missing_files", "missing_rank slow_gpu", "", false,
     FIVE("fault=slow_gpu:rank=%d,fault=missing_rank:rank=0:last=", "0", "1", "2", "3", "5", "")},
};
const struct shape shapes[SHAPES] = {
    {"dp=8", 8, ""},
    {"dp=16,gpus_per_host=8,clock=1ms,layers=4", 16, "h"},
    {"dp=8,pp=2,gpus_per_host=4,micro_batches=4,layers=4", 16, "hp"},
    {"dp=2,pp=4,layers=8,labels=1", 8, "p"},
    {"dp=8,experts=1,layers=4", 8, "e"},
    {"dp=4,tp=4,gpus_per_host=8,layers=4", 16, "h"},
    {"dp=2,pp=4,layers=8,p2p=batched", 8, "p"},
    {"dp=2,pp=4,layers=8,early_recv=2", 8, "p"},
    {"dp=8,sharded=1", 8, ""},
    {"dp=8,pp=1,experts=1,layers=4,gpus_per_host=4", 8, "eh"},
};

const char *const variants[VARIANTS] = {
    "steps=8",
    "steps=8,sync=4",
    "steps=10,window=ragged",
    "steps=8,drift=20,gpus_per_host=4",
    "steps=8,shapes=1,ts=abs",
    "steps=8,sync=0,p2p_group=world",
    "steps=6,fault=cut_file:rank=1:at=0.8",
    "steps=8,args=seq,sigma=0.04,host_sigma=0.4",
};

bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(words, word); p != NULL; p = strstr(p + 1, word)) {
        if ((p == words || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' ')) {
            return true;
        }
    }
    return false;
}

double even_step(const struct family *family, const struct inq_synth_spec *spec)
{
    bool alone = has_word(family->kinds, "more_work") && has_word(family->kinds, "stage_imbalance");
    bool moves = strcmp(family->name, "long_last_stage") == 0 ||
                 (alone && spec->dp * spec->tp == 1 && spec->pp > 1);
    return moves ? evened_step(spec) : 0.0;
}
