/* SPDX-License-Identifier: Apache-2.0 */
/* The words for the enums of a comparison: part of its JSON, so they never change meaning. */
#include "inquest/compare.h"

#define PART_TEXT(name, text, what) text,
#define PART_WHAT(name, text, what) what,

const char *inq_step_part_text(enum inq_step_part part)
{
    static const char *const texts[] = {INQ_STEP_PARTS(PART_TEXT)};
    return texts[part];
}

const char *inq_step_part_what(enum inq_step_part part)
{
    static const char *const texts[] = {INQ_STEP_PARTS(PART_WHAT)};
    return texts[part];
}

const char *inq_loss_text(enum inq_loss loss)
{
    static const char *const texts[] = {INQ_LOSSES(PART_TEXT)};
    return texts[loss];
}

const char *inq_loss_what(enum inq_loss loss)
{
    static const char *const texts[] = {INQ_LOSSES(PART_WHAT)};
    return texts[loss];
}

const char *inq_scaling_text(enum inq_scaling scaling)
{
    static const char *const texts[] = {"same", "weak", "strong", "other"};
    return texts[scaling];
}

const char *inq_change_text(enum inq_change change)
{
    static const char *const texts[] = {"new", "gone", "worse", "better"};
    return texts[change];
}
