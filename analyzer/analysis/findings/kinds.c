/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the kinds of findings; its rows stand in the public header. */
#include "analysis/findings/findings.h"

#define ROW(name, key, about, fix, advice) {key, INQ_ABOUT_##about, fix, advice},

static const struct inq_finding_kind_info kinds[] = {INQ_FINDING_KINDS(ROW)};

const struct inq_finding_kind_info *inq_finding_kind_info(enum inq_finding_kind kind)
{
    return (unsigned)kind < INQ_FINDING_KIND_COUNT ? &kinds[kind] : NULL;
}

const char *inq_finding_kind_text(enum inq_finding_kind kind)
{
    const struct inq_finding_kind_info *info = inq_finding_kind_info(kind);

    return info != NULL ? info->key : "unknown";
}

enum inq_finding_about inq_finding_is_about(const struct inq_finding *finding)
{
    enum inq_finding_about about = kinds[finding->kind].about;
    bool of_ranks = finding->n_ranks > 0; /* else it says where everybody's time goes */

    return about != INQ_ABOUT_COPIES ? about : of_ranks ? INQ_ABOUT_CAUSE : INQ_ABOUT_TIME;
}
