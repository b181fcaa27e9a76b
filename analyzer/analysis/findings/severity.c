/* SPDX-License-Identifier: Apache-2.0 */
/* How severe a finding is and how sure: thresholds, and words that are part of the JSON, so they
 * never change meaning. */
#include "inquest/analysis.h"

const char *inq_severity_text(enum inq_severity severity)
{
    switch (severity) {
    case INQ_SEVERITY_INFO:
        return "info";
    case INQ_SEVERITY_LOW:
        return "low";
    case INQ_SEVERITY_MEDIUM:
        return "medium";
    case INQ_SEVERITY_HIGH:
        return "high";
    }
    return "unknown";
}

double inq_severity_least(enum inq_severity severity)
{
    switch (severity) {
    case INQ_SEVERITY_HIGH:
        return 0.20;
    case INQ_SEVERITY_MEDIUM:
        return 0.05;
    case INQ_SEVERITY_LOW:
        return 0.01; /* by less than that equal runs differ */
    case INQ_SEVERITY_INFO:
        break;
    }
    return 0.0;
}

enum inq_severity inq_severity_of(double share)
{
    enum inq_severity severity = INQ_SEVERITY_INFO;
    for (int s = INQ_SEVERITY_LOW; s <= INQ_SEVERITY_HIGH; s++) {
        severity =
            share >= inq_severity_least((enum inq_severity)s) ? (enum inq_severity)s : severity;
    }
    return severity;
}

const char *inq_confidence_text(enum inq_confidence confidence)
{
    switch (confidence) {
    case INQ_CONFIDENCE_HYPOTHESIS:
        return "hypothesis";
    case INQ_CONFIDENCE_SUPPORTED:
        return "supported";
    case INQ_CONFIDENCE_ESTABLISHED:
        return "established";
    }
    return "unknown";
}
