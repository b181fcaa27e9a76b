/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/sniff.h"

#include "ingest/log/level.h"
#include "ingest/log/line.h"
#include "ingest/log/wrap.h"
#include "ingest/ingest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static size_t blanks(const char *head, size_t n)
{
    size_t i = 0;
    while (i < n && (unsigned char)head[i] <= ' ') {
        i++;
    }
    return i;
}

/* The file in which a worker leaves its exception for the launcher. */
static bool is_error_file(const char *head, size_t n)
{
    size_t i = blanks(head, n);
    return i < n && head[i] == '{' && memmem(head, n, "\"message\"", 9) != NULL &&
           (memmem(head, n, "py_callstack", 12) != NULL ||
            memmem(head, n, "\"timestamp\"", 11) != NULL) &&
           inq_log_wrapping_of(head, n) != INQ_LOG_OBJECTS; /* last: it looks at all lines */
}

/* {"step": 1, "loss": 2.5}, a line each. */
static bool is_metrics_lines(const char *head, size_t n)
{
    const char *end = memchr(head, '\n', n);
    size_t len = end != NULL ? (size_t)(end - head) : n;
    return memmem(head, len, "loss\"", 5) != NULL && memmem(head, n, "\"ph\"", 4) == NULL &&
           memmem(head, n, "traceEvents", 11) == NULL;
}

/* "[ 1843.308145] ...", "[2]: ...": a tag or a stamp, where in JSON no text follows a bracket. */
static bool is_tagged(const char *head, size_t n)
{
    const char *end = memchr(head, '\n', n);
    end = end != NULL ? end : head + n;
    const char *close = head < end && *head == '[' ? memchr(head, ']', (size_t)(end - head)) : NULL;
    if (close == NULL) {
        return false;
    }
    bool colon = close + 1 < end && close[1] == ':';
    const char *next = inq_log_blank(close + 1, end);
    return colon || (next < end && strchr(",]}", *next) == NULL);
}

/* Plain text, lines with tags, lines of JSON. */
static bool is_text(const char *head, size_t n)
{
    size_t i = blanks(head, n);
    return n > 0 && inq_unrecognized_is_text(head, n) &&
           (is_tagged(head + i, n - i) || is_metrics_lines(head + i, n - i) ||
            inq_unrecognized_is_plain(head, n) || inq_log_wrapping_of(head, n) == INQ_LOG_OBJECTS);
}

enum inq_log_form inq_log_form_of(const char *head, size_t n)
{
    return is_error_file(head, n) ? INQ_LOG_ERROR_FILE
           : is_text(head, n)     ? INQ_LOG_TEXT
                                  : INQ_LOG_NO_TEXT;
}

/* ---- what is no log ------------------------------------------------------------------------- */

struct kind_of_text {
    const char *reason;
    const char *const *suffixes;
};

static const char *const of_code[] = {
    ".py",    ".pyx", ".pyi",  ".c",     ".h",     ".cc",     ".cpp", ".cxx",  ".hpp",
    ".cu",    ".cuh", ".js",   ".ts",    ".tsx",   ".go",     ".rs",  ".java", ".kt",
    ".rb",    ".pl",  ".lua",  ".jl",    ".r",     ".scala",  ".sh",  ".bash", ".zsh",
    ".slurm", ".sql", ".diff", ".patch", ".cmake", ".sbatch", NULL};
static const char *const of_config[] = {".yaml",       ".yml",  ".toml", ".ini",
                                        ".cfg",        ".conf", ".env",  ".jsonnet",
                                        ".properties", ".lock", ".gin",  NULL};
static const char *const of_prose[] = {".md",   ".markdown", ".rst",  ".tex",
                                       ".html", ".htm",      ".adoc", NULL};
static const char *const of_data[] = {".csv", ".tsv", ".ipynb", ".xml", ".svg", ".tokens", NULL};
static const struct kind_of_text kinds[] = {{"not a trace: source code", of_code},
                                            {"not a trace: a configuration", of_config},
                                            {"not a trace: a document", of_prose},
                                            {"not a trace: data of another kind", of_data}};
/* Files that have no suffix, or one that says little. */
static const char *const documents[] = {"readme",      "license",      "licence",   "changelog",
                                        "makefile",    "dockerfile",   "authors",   "contributing",
                                        "jenkinsfile", "requirements", "setup.cfg", "cmakelists",
                                        NULL};

static const char *base_name(const char *path)
{
    const char *name = path != NULL ? strrchr(path, '/') : NULL;
    return name != NULL ? name + 1 : path != NULL ? path : "";
}

/* Without the suffix of compression. */
static size_t plain_length(const char *name)
{
    static const char *const packed[] = {".gz", ".zst", ".xz", ".bz2", ".lz4"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        size_t len = strlen(packed[i]);
        if (n > len && strcasecmp(name + n - len, packed[i]) == 0) {
            return n - len;
        }
    }
    return n;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t n = plain_length(name);
    size_t len = strlen(suffix);
    return n > len && strncasecmp(name + n - len, suffix, len) == 0;
}

static bool begins(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

static bool begins_any(const char *p, const char *end, const char *const *words)
{
    while (*words != NULL && !begins(p, end, *words)) {
        words++;
    }
    return *words != NULL;
}

/* A line of a program: a statement's first word, or its last character. */
static bool is_statement(const char *p, const char *end)
{
    static const char *const words[] = {
        "import ", "from ",  "def ",   "class ",    "return",   "if ",     "elif ",
        "else:",   "for ",   "while ", "with ",     "try:",     "except",  "raise ",
        "assert ", "self.",  "print(", "@",         "#include", "#define", "static ",
        "const ",  "let ",   "var ",   "function ", "export ",  "//",      "/*",
        "*/",      "\"\"\"", "fi",     "done",      "}",        NULL};
    char last = end > p ? end[-1] : ' ';
    return begins_any(p, end, words) || last == ';' || last == '{' || last == '(';
}

/* "2m  Warning  NodeShutdown  pod/train-3  Pod was ...", as kubectl lists events. */
static bool is_event_of_cluster(const char *p, const char *end)
{
    const char *type = inq_log_seek(p, end, " Warning ");
    type = type != NULL ? type : inq_log_seek(p, end, " Normal ");
    return type != NULL &&
           (inq_log_seek(type, end, " pod/") != NULL || inq_log_seek(type, end, " job/") != NULL ||
            inq_log_seek(type, end, " node/") != NULL);
}

bool inq_log_is_shaped(const char *start, const char *end)
{
    static const char *const heads[] = {"Traceback (most",
                                        "File \"",
                                        "srun: ",
                                        "slurmstepd: ",
                                        "sbatch: ",
                                        "mpirun",
                                        "prterun",
                                        "terminate called",
                                        "Killed",
                                        "Aborted",
                                        "Segmentation fault",
                                        "Fatal Python",
                                        "NVRM: ",
                                        "bash: ",
                                        "*** Process received",
                                        "MPI_ABORT was",
                                        "WARNING: ",
                                        "ERROR: ",
                                        "Error: ",
                                        "comment = Job ", /* of qstat */
                                        "statusReason: ", /* of AWS Batch */
                                        NULL};
    const char *p = inq_log_blank(start, end);
    size_t n = (size_t)(end - p);
    return p < end &&
           (inq_log_message(p, end) > p || begins_any(p, end, heads) ||
            inq_log_level_of(p, end) != INQ_LOG_LEVEL_NONE || is_event_of_cluster(p, end) ||
            memmem(p, n, "NCCL INFO", 9) != NULL || memmem(p, n, "NCCL WARN", 9) != NULL);
}

static bool is_code(const char *head, size_t n)
{
    size_t lines = 0;
    size_t statements = 0;
    size_t shaped = 0;
    bool quoted = false; /* by a traceback */
    const char *stop = head + n;
    for (const char *p = head; p < stop; p++) {
        const char *end = memchr(p, '\n', (size_t)(stop - p));
        end = end != NULL ? end : stop;
        const char *from = inq_log_blank(p, end);
        const char *to = end > from && end[-1] == '\r' ? end - 1 : end;
        if (from < to && !quoted) {
            lines++;
            shaped += inq_log_is_shaped(from, to);
            statements += is_statement(from, to);
        }
        quoted = from < to && begins(from, to, "File \"");
        p = end;
    }
    return statements * 4 > lines && statements > shaped;
}

/* ---- logs that have no record
 * --------------------------------------------------------------------
 */

static bool is_named(const char *path)
{
    static const char *const suffixes[] = {".log", ".out", ".err"};
    static const char *const words[] = {"stdout", "stderr", "dmesg", "syslog"};
    const char *name = base_name(path);
    static const char system[] = "messages"; /* and those rotated: "messages-20260314" */
    size_t n = sizeof system - 1;
    bool named = memcmp(name, system, strnlen(name, n)) == 0 && strlen(name) >= n &&
                 (plain_length(name) == n || name[n] == '-');
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        named = named || ends_with(name, suffixes[i]);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        named = named || strstr(name, words[i]) != NULL;
    }
    return named;
}

static bool is_log(const char *head, size_t n, const char *path)
{
    enum { LINES = 64 };
    size_t lines = 0;
    size_t marked = 0;
    const char *stop = head + n;
    if (!is_text(head, n) || is_named(path) || inq_log_wrapping_of(head, n) != INQ_LOG_BARE) {
        return is_text(head, n);
    }
    for (const char *p = head; p < stop && lines < LINES; p++) {
        const char *end = memchr(p, '\n', (size_t)(stop - p));
        end = end != NULL ? end : stop;
        const char *from = inq_log_blank(p, end);
        lines += from < end;
        marked += from < end && inq_log_is_shaped(from, end);
        p = end;
    }
    return marked * 2 > lines;
}

/* "torch==2.5.1", "flash-attn @ file:///...", a line each, as pip freeze writes them. */
static bool is_package_list(const char *head, size_t n)
{
    size_t lines = 0;
    size_t packages = 0;
    const char *stop = head + n;
    for (const char *p = head; p < stop; p++) {
        const char *end = memchr(p, '\n', (size_t)(stop - p));
        end = end != NULL ? end : stop;
        size_t len = (size_t)(end - p);
        lines += len > 0;
        packages += len > 0 &&
                    (memmem(p, len, "==", 2) != NULL || memmem(p, len, " @ ", 3) != NULL ||
                     begins(p, end, "-e ")) &&
                    memchr(p, ':', len < 12 ? len : 12) == NULL;
        p = end;
    }
    return lines > 2 && packages * 10 >= lines * 9;
}

/* Why a text is no log, whatever words of failures stand in it: by its name code, configuration, a
 * document or data, or a program by its lines. NULL: it may be one. */
static const char *other_text(const char *head, size_t n, const char *path, bool log)
{
    const char *name = base_name(path);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t i = 0; kinds[k].suffixes[i] != NULL; i++) {
            if (ends_with(name, kinds[k].suffixes[i])) {
                return kinds[k].reason;
            }
        }
    }
    for (size_t i = 0; documents[i] != NULL; i++) {
        if (strncasecmp(name, documents[i], strlen(documents[i])) == 0) {
            return "not a trace: a document";
        }
    }
    if (is_package_list(head, n)) {
        return "not a trace: a list of packages";
    }
    return !log && is_code(head, n) ? "not a trace: source code" : NULL;
}

bool inq_log_is_log(const char *head, size_t n, const char *path, const char **other)
{
    bool log = is_log(head, n, path);
    *other = other_text(head, n, path, log);
    return log;
}

/* ---- last words -------------------------------------------------------------------------------
 */

static bool has_any(const char *p, const char *end, const char *const *words)
{
    while (*words != NULL && memmem(p, (size_t)(end - p), *words, strlen(*words)) == NULL) {
        words++;
    }
    return *words != NULL;
}

static const char *const denied[] = {"Failed to ", "Unable to ",      "Cannot ", "cannot ",
                                     "Could not ", "Lost connection", NULL};
static const char *const good[] = {"success", "omplet", "inished", "done",    "kipp",
                                   "etry",    "retri",  " will ",  " would ", " may ",
                                   " if ",    "no err", "no fail", "no warn", "no crash",
                                   " 0 ",     "arning", "ignored", ">",       NULL};
/* What a program says of itself when it ends, at whatever severity. */
static const char *const given_up[] = {"giving up",   "gave up",     "aborting",   "bailing out",
                                       "sending SIG", "not running", "going down", NULL};

/* "run.sh: line 41: NGPU: unbound variable", "bash: ./train: ...": what a shell says of a script's
 * line, or of a command; ends of processes have patterns of their own. */
static bool is_of_shell(const char *p, const char *end)
{
    static const char *const ends[] = {"Killed", "Terminated", "Aborted", "fault", "warning", NULL};
    const char *said = inq_log_match(p, end, "bash: ");
    const char *name = p;
    while (said == NULL && name<end && * name> ' ' && *name != ':' &&
           strchr("\"'", *name) == NULL) {
        name++;
    }
    if (said == NULL && name > p) {
        int64_t number = 0;
        const char *line = inq_log_match(name, end, ": line ");
        said = line != NULL ? inq_log_number(line, end, &number) : NULL;
        said = said != NULL && said < end && *said == ':' ? said : NULL;
    }
    return said != NULL && !has_any(said, end, ends);
}

/* A severity in a form that no pattern finds: syslog's priority "<3>", glog's letter. */
static bool is_severe(const char *p, const char *end)
{
    bool letter = end - p > 5 && (*p == 'E' || *p == 'F') && isdigit((unsigned char)p[1]) != 0;
    return p < end && (*p == '<' || letter) && inq_log_level_of(p, end) >= INQ_LOG_LEVEL_ERROR;
}

bool inq_log_is_last_word(const char *p, const char *end, bool output)
{
    static const char *const ended[] = {
        "killed",       "terminated",     "aborted",        "evicted",   "exceeded",
        "crashed",      "preempted",      "core dumped",    "failed",    "FAILED",
        "failure",      "unable to",      "cannot ",        "could not", "out of memory",
        "timed out",    "not responding", "onnection lost", "expired",   "TIMED OUT",
        "disconnected", "unreachable",    "refused",        NULL};
    const char *start = p;
    p = inq_log_message(p, end);
    const char *rest = p;
    while (rest < end && *rest != ' ') {
        rest++;
    }
    uint32_t writer; /* behind colors and collectors' stamps */
    const char *body = inq_log_body(start, end, &writer);
    enum inq_log_level level = inq_log_level_of(start, end);
    level = level == INQ_LOG_LEVEL_NONE ? inq_log_level_of(body, end) : level;
    bool severe = is_severe(body, end) || is_of_shell(body, end);
    bool plain = level == INQ_LOG_LEVEL_NONE &&
                 (output ? has_any(rest, end, ended) || has_any(p, end, denied)
                         : begins_any(p, end, denied));
    bool warns = level == INQ_LOG_LEVEL_NONE || level == INQ_LOG_LEVEL_WARNING;
    bool told = plain || (output && warns && has_any(p, end, given_up));
    return severe || (told && !has_any(p, end, good));
}

bool inq_log_is_completion(const char *p, const char *end)
{
    static const char *const whole[] = {"pochs",    "raining",    "he run",    "he job",
                                        "ll steps", "verything",  "ll done",   "xperiment",
                                        "orkload",  "ine-tuning", "inetuning", NULL};
    static const char *const done[] = {" done", "omplete", "inished", " is over", NULL};
    static const char *const part[] = {"not ",  "ncomplete", "fail", "rror",  "poch ", "step ",
                                       "batch", "alid",      "eval", "heckp", "arm",   NULL};
    return has_any(p, end, whole) && has_any(p, end, done) && !has_any(p, end, part);
}
