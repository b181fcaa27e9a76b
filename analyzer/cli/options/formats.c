/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that commands write: one row each. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct inq_cli_format formats[] = {
    {INQ_FORMAT_TEXT, "text", "text", {".txt", ".log", ".out"}},
    {INQ_FORMAT_JSON, "json", "JSON", {".json"}},
    {INQ_FORMAT_MARKDOWN, "markdown", "Markdown", {".md", ".markdown"}},
    {INQ_FORMAT_CSV, "csv", "CSV", {".csv"}},
    {INQ_FORMAT_HTML, "html", "HTML", {".html", ".htm"}},
    {INQ_FORMAT_PERFETTO, "perfetto", "Perfetto traces", {".trace.json", ".perfetto"}},
    {INQ_FORMAT_JUNIT, "junit", "JUnit XML", {".xml"}},
    {INQ_FORMAT_GITHUB, "github", "GitHub annotations", {NULL}},
    {INQ_FORMAT_GITLAB, "gitlab", "GitLab code quality", {".codequality.json"}},
    {INQ_FORMAT_SARIF, "sarif", "SARIF", {".sarif"}},
    {INQ_FORMAT_SVG, "svg", "SVG", {".svg"}},
    {INQ_FORMAT_SQLITE, "sqlite", "SQLite", {".sqlite", ".sqlite3", ".db"}},
};

_Static_assert(sizeof formats / sizeof *formats == INQ_FORMAT_COUNT, "one row per format");

const struct inq_cli_format *inq_cli_format(enum inq_format format)
{
    return &formats[format];
}

const struct inq_cli_format *inq_cli_format_named(const char *name)
{
    for (size_t i = 0; i < INQ_FORMAT_COUNT; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

static bool ends_with(const char *text, size_t len, const char *suffix)
{
    size_t want = strlen(suffix);
    return len >= want && memcmp(text + len - want, suffix, want) == 0;
}

bool inq_cli_is_gzip(const char *path)
{
    return ends_with(path, strlen(path), ".gz");
}

const struct inq_cli_format *inq_cli_format_of_path(const char *path)
{
    const struct inq_cli_format *found = NULL;
    size_t len = strlen(path) - (inq_cli_is_gzip(path) ? 3 : 0);
    size_t longest = 0;
    for (size_t i = 0; i < INQ_FORMAT_COUNT; i++) {
        for (size_t k = 0; k < 4 && formats[i].suffix[k] != NULL; k++) {
            size_t want = strlen(formats[i].suffix[k]);
            if (want > longest && ends_with(path, len, formats[i].suffix[k])) {
                longest = want;
                found = &formats[i];
            }
        }
    }
    return found;
}

char *inq_cli_format_list(unsigned mask, const char *between, const char *last, char *buf,
                          size_t size)
{
    size_t len = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < INQ_FORMAT_COUNT && len < size; i++) {
        if ((mask & INQ_FORMAT_BIT(i)) == 0) {
            continue;
        }
        mask &= ~INQ_FORMAT_BIT(i);
        const char *joint = len == 0 ? "" : mask == 0 ? last : between;
        int n = snprintf(buf + len, size - len, "%s%s", joint, formats[i].name);
        len += n > 0 ? (size_t)n : 0;
    }
    return buf;
}
