/* SPDX-License-Identifier: Apache-2.0 */
/* What is read off an account: the names of its classes, its median step. */
#include "analysis/account/account.h"

const char *inq_account_class_id(enum inq_account_class cls)
{
    static const char *const ids[] = {
#define INQ_ACCOUNT_ID(name, id, words) id,
        INQ_ACCOUNT_CLASSES(INQ_ACCOUNT_ID)
#undef INQ_ACCOUNT_ID
    };
    return (unsigned)cls < INQ_ACCOUNT_CLASS_COUNT ? ids[cls] : "";
}

const char *inq_account_class_words(enum inq_account_class cls)
{
    static const char *const texts[] = {
#define INQ_ACCOUNT_WORDS(name, id, words) words,
        INQ_ACCOUNT_CLASSES(INQ_ACCOUNT_WORDS)
#undef INQ_ACCOUNT_WORDS
    };
    return (unsigned)cls < INQ_ACCOUNT_CLASS_COUNT ? texts[cls] : "";
}

/* Judged steps that are no longer than `most_ns`. */
static size_t count_up_to(const struct inq_account *account, int64_t most_ns)
{
    size_t n = 0;
    for (size_t s = 0; s < account->n_steps; s++) {
        n += account->steps[s].judged && account->steps[s].length_ns <= most_ns;
    }
    return n;
}

/* By halving the range that the length lies in: needs no memory that might not be had. */
uint32_t inq_account_median_step(const struct inq_account *account)
{
    size_t half = (count_up_to(account, INT64_MAX) + 1) / 2;
    int64_t low = -1; /* a step that no rank has whole */
    int64_t high = INT64_MAX - 1;

    while (half > 0 && low < high) {
        int64_t middle = low + (high - low) / 2;
        if (count_up_to(account, middle) >= half) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (uint32_t s = 0; half > 0 && s < account->n_steps; s++) {
        if (account->steps[s].judged && account->steps[s].length_ns == low) {
            return s;
        }
    }
    return INQ_NONE;
}
