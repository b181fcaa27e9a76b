/* SPDX-License-Identifier: Apache-2.0 */
/* The words for the enums of a report: part of its JSON, so they never change meaning. */
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

const char *inq_method_text(enum inq_method method)
{
    switch (method) {
    case INQ_METHOD_INQUEST:
        return "inquest";
    case INQ_METHOD_HTA:
        return "hta";
    case INQ_METHOD_TRACELENS:
        return "tracelens";
    }
    return "unknown";
}

#define SECTION_KEY(name, key, title)   (key),
#define SECTION_TITLE(name, key, title) (title),

const char *inq_section_key(enum inq_section section)
{
    static const char *const keys[] = {INQ_SECTIONS(SECTION_KEY)};

    return (unsigned)section < INQ_SECTION_COUNT ? keys[section] : "unknown";
}

const char *inq_section_title(enum inq_section section)
{
    static const char *const titles[] = {INQ_SECTIONS(SECTION_TITLE)};

    return (unsigned)section < INQ_SECTION_COUNT ? titles[section] : "Unknown";
}
