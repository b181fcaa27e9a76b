/* SPDX-License-Identifier: Apache-2.0 */
/* argv to struct inq_cli, by the option table. */
#include "cli/cli.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_JOBS = 1024, MAX_CHOICES = 32 };

static const uint64_t ALL_OPTIONS = INQ_OPT_BIT(INQ_OPT_COUNT) - 1;

/* One argument that starts with '-', taken apart. */
struct taken {
    const struct inq_option *option;
    const char *value; /* attached value, or NULL */
    const char *rest;  /* further letters of "-qv", or NULL */
};

static struct taken take_long(const char *text, uint64_t mask)
{
    size_t len = strcspn(text, "=");
    struct taken taken = {.option = inq_cli_option_name(text, len, mask)};
    taken.value = text[len] == '=' ? text + len + 1 : NULL;
    return taken;
}

static struct taken take_letter(const char *text, uint64_t mask)
{
    struct taken taken = {.option = inq_cli_option_letter(text[0], mask)};
    const char *rest = text[1] != '\0' ? text + 1 : NULL;
    if (taken.option != NULL && taken.option->arg != NULL) {
        taken.value = rest;
    } else {
        taken.rest = rest;
    }
    return taken;
}

static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1] != '\0';
}

static struct taken take(const char *arg, uint64_t mask)
{
    return arg[1] == '-' ? take_long(arg + 2, mask) : take_letter(arg + 1, mask);
}

/* ---- which command, and whether errors are to be JSON ---------------------------------------- */

/* Whether argv[i] takes the next argument as its value, whatever the command. */
static bool eats_next(const char *arg)
{
    struct taken taken = take(arg, ALL_OPTIONS);
    while (taken.option != NULL && taken.option->arg == NULL && taken.rest != NULL) {
        taken = take_letter(taken.rest, ALL_OPTIONS);
    }
    return taken.option != NULL && taken.option->arg != NULL && taken.value == NULL;
}

/* The index of the first word, or argc. */
static int first_word(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            return argc;
        }
        if (!is_option(argv[i])) {
            return i;
        }
        i += eats_next(argv[i]);
    }
    return argc;
}

/* Looked for before anything is parsed, so that wrong usage can be told in JSON too. */
static bool wants_json(int argc, char **argv)
{
    bool by_suffix = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!is_option(argv[i])) {
            continue;
        }
        struct taken taken = take(argv[i], ALL_OPTIONS);
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        const char *value = taken.value != NULL ? taken.value : next;
        if (taken.option != NULL) {
            if (taken.option->letter == 'f') {
                return strcmp(value, "json") == 0;
            }
            const struct inq_cli_format *format =
                taken.option->letter == 'o' ? inq_cli_format_of_path(value) : NULL;
            by_suffix |= format != NULL && format->format == INQ_FORMAT_JSON;
        }
        i += eats_next(argv[i]);
    }
    return by_suffix;
}

static const char *nearest_command(const char *word)
{
    const char *names[32];
    size_t n = 0;
    for (const struct inq_command *c = inq_commands; c->name != NULL && n < 32; c++) {
        names[n++] = c->name;
    }
    return inq_cli_nearest(word, names, n);
}

/* Sets the command; *skip gets the index of its word in argv, or 0 when a bare PATH means analyze.
 */
static int choose_command(int argc, char **argv, struct inq_cli *cli, int *skip)
{
    int at = first_word(argc, argv);
    *skip = 0;
    cli->command = &inq_commands[0];
    cli->bare = true;
    if (at == argc) {
        return INQ_EXIT_OK;
    }
    const struct inq_command *found = inq_command_find(argv[at]);
    if (found != NULL) {
        cli->command = found;
        cli->bare = false;
        *skip = at;
        return INQ_EXIT_OK;
    }
    if (strchr(argv[at], '/') != NULL || access(argv[at], F_OK) == 0) {
        return INQ_EXIT_OK;
    }
    const char *nearest = nearest_command(argv[at]);
    if (nearest != NULL) {
        char hint[128];
        (void)snprintf(hint, sizeof hint, "did you mean 'inquest %s'?", nearest);
        return inq_cli_usage(cli, hint, "no command and no file is called '%s'", argv[at]);
    }
    return inq_cli_usage(cli, "'inquest help' lists the commands",
                         "no command and no file is called '%s'", argv[at]);
}

/* ---- options --------------------------------------------------------------------------------- */

/* The number of `value` among "a|b|c", or -1. `words` gets the choices, cut apart in `buf`. */
static int find_choice(const char *choices, const char *value, char *buf, size_t size,
                       const char **words, size_t *n)
{
    int found = -1;
    (void)snprintf(buf, size, "%s", choices);
    *n = 0;
    char *save = NULL;
    for (char *word = strtok_r(buf, "|", &save); word != NULL && *n < MAX_CHOICES;
         word = strtok_r(NULL, "|", &save)) {
        if (strcmp(word, value) == 0) {
            found = (int)*n;
        }
        words[(*n)++] = word;
    }
    return found;
}

static int set_choice(struct inq_cli *cli, const struct inq_option *option, const char *value)
{
    char buf[256];
    const char *words[MAX_CHOICES];
    size_t n;
    int choice = find_choice(option->choices, value, buf, sizeof buf, words, &n);
    if (choice >= 0) {
        cli->choice[option->id] = choice;
        return INQ_EXIT_OK;
    }
    const char *nearest = inq_cli_nearest(value, words, n);
    char hint[256];
    if (nearest != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    } else {
        (void)snprintf(hint, sizeof hint, "it is one of %s", option->choices);
    }
    return inq_cli_usage(cli, hint, "--%s cannot be '%s'", option->name, value);
}

static int set_jobs(struct inq_cli *cli, const char *value)
{
    char *end = NULL;
    errno = 0;
    long jobs = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || jobs < 1 || jobs > MAX_JOBS) {
        return inq_cli_usage(cli, "a number of threads from 1 to 1024", "-j cannot be '%s'", value);
    }
    cli->jobs = (int)jobs;
    return INQ_EXIT_OK;
}

static int set_option(struct inq_cli *cli, const struct inq_option *option, const char *value)
{
    cli->given[option->id] = true;
    cli->value[option->id] = value;
    cli->said[cli->n_said++] = (struct inq_said){option->id, value};
    if (value == NULL) {
        return INQ_EXIT_OK; /* a flag */
    }
    if (option->choices != NULL) {
        return set_choice(cli, option, value);
    }
    if (option->id == INQ_OPT_JOBS) {
        return set_jobs(cli, value);
    }
    if (value[0] == '\0') {
        return inq_cli_usage(cli, NULL, "--%s needs a value", option->name);
    }
    return INQ_EXIT_OK;
}

/* An option ("--name" or "-x") that no row of the command's mask has: does another command take it,
 * is one alike? */
static int unknown_option(const struct inq_cli *cli, const char *word)
{
    if (take(word, ALL_OPTIONS).option != NULL) {
        return inq_cli_usage(cli, NULL, "'inquest %s' takes no %s", cli->command->name, word);
    }
    char names[INQ_OPT_COUNT][32];
    const char *list[INQ_OPT_COUNT];
    size_t n = 0;
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        if ((cli->command->options & INQ_OPT_BIT(i)) != 0) {
            (void)snprintf(names[n], sizeof names[n], "--%s",
                           inq_cli_option((enum inq_option_id)i)->name);
            list[n] = names[n];
            n++;
        }
    }
    const char *nearest = word[1] == '-' ? inq_cli_nearest(word, list, n) : NULL;
    char hint[96];
    if (nearest != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    }
    return inq_cli_usage(cli, nearest != NULL ? hint : NULL, "unknown option '%s'", word);
}

/* Handles argv[*i], which starts with '-', and its value. */
static int parse_option(struct inq_cli *cli, char **argv, int *i)
{
    const char *arg = argv[*i];
    struct taken taken = take(arg, cli->command->options);
    char word[64];
    (void)snprintf(word, sizeof word, "%.*s", arg[1] == '-' ? (int)strcspn(arg, "=") : 2, arg);
    for (;;) {
        if (taken.option == NULL) {
            return unknown_option(cli, word);
        }
        if (taken.option->arg == NULL && taken.value != NULL) {
            return inq_cli_usage(cli, NULL, "--%s takes no value", taken.option->name);
        }
        if (taken.option->arg != NULL && taken.value == NULL) {
            taken.value = argv[++*i];
        }
        if (taken.option->arg != NULL && taken.value == NULL) {
            return inq_cli_usage(cli, NULL, "%s needs a value (%s)", arg, taken.option->arg);
        }
        int status = set_option(cli, taken.option, taken.value);
        if (status != INQ_EXIT_OK || taken.rest == NULL) {
            return status;
        }
        (void)snprintf(word, sizeof word, "-%c", taken.rest[0]);
        taken = take_letter(taken.rest, cli->command->options);
    }
}

/* ---- the format: said, or by the suffix of the output file ----------------------------------- */

/* Why a format that inquest knows is not offered here; "" when it is another command's. */
static const char *not_built(enum inq_format format)
{
#ifndef INQ_HAVE_HTML
    if (format == INQ_FORMAT_HTML) {
        return "; HTML needs D3, which was not there at build time";
    }
#endif
#ifndef INQ_HAVE_SQLITE
    if (format == INQ_FORMAT_SQLITE) {
        return "; SQLite was not there at build time";
    }
#endif
    (void)format;
    return "";
}

static int set_format(struct inq_cli *cli, const char *name)
{
    const struct inq_cli_format *format = inq_cli_format_named(name);
    unsigned mask = cli->command->formats;
    if (format != NULL && (mask & INQ_FORMAT_BIT(format->format)) != 0) {
        cli->format = format->format;
        return INQ_EXIT_OK;
    }
    const char *names[INQ_FORMAT_COUNT];
    size_t n = 0;
    for (unsigned i = 0; i < INQ_FORMAT_COUNT; i++) {
        if ((mask & INQ_FORMAT_BIT(i)) != 0) {
            names[n++] = inq_cli_format((enum inq_format)i)->name;
        }
    }
    const char *nearest = inq_cli_nearest(name, names, n);
    char list[96];
    char hint[160];
    if (nearest != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    } else {
        (void)snprintf(hint, sizeof hint, "it is one of %s%s",
                       inq_cli_format_list(mask, "|", "|", list, sizeof list),
                       format != NULL ? not_built(format->format) : "");
    }
    return inq_cli_usage(cli, hint, "--format cannot be '%s'", name);
}

static int format_by_suffix(struct inq_cli *cli, const char *path)
{
    const struct inq_cli_format *format = inq_cli_format_of_path(path);
    char hint[160];
    char list[96];
    (void)inq_cli_format_list(cli->command->formats, ", ", " or ", list, sizeof list);
    if (format == NULL) {
        const char *slash = strrchr(path, '/');
        const char *dot = strrchr(slash != NULL ? slash + 1 : path, '.');
        if (dot == NULL) {
            return INQ_EXIT_OK;
        }
        (void)snprintf(hint, sizeof hint, "say it with -f: %s", list);
        return inq_cli_usage(cli, hint, "no format goes with the suffix '%s'", dot);
    }
    if ((cli->command->formats & INQ_FORMAT_BIT(format->format)) == 0) {
        (void)snprintf(hint, sizeof hint, "it writes %s%s", list, not_built(format->format));
        return inq_cli_usage(cli, hint, "'inquest %s' does not write %s", cli->command->name,
                             format->what);
    }
    cli->format = format->format;
    return INQ_EXIT_OK;
}

static int choose_format(struct inq_cli *cli)
{
    const char *path = cli->value[INQ_OPT_OUTPUT];
    if (cli->given[INQ_OPT_FORMAT]) {
        return set_format(cli, cli->value[INQ_OPT_FORMAT]);
    }
    return path != NULL && strcmp(path, "-") != 0 ? format_by_suffix(cli, path) : INQ_EXIT_OK;
}

int inq_cli_parse(int argc, char **argv, struct inq_cli *cli)
{
    *cli = (struct inq_cli){.json_errors = wants_json(argc, argv)};
    size_t letters = 1; /* every letter of "-qv" may be an option */
    for (int i = 1; i < argc; i++) {
        letters += strlen(argv[i]);
    }
    cli->words = inq_mem_zalloc((size_t)argc + 1, sizeof *cli->words);
    cli->said = inq_mem_zalloc(letters, sizeof *cli->said);
    cli->inputs = inq_mem_zalloc(1, sizeof *cli->inputs);
    if (cli->words == NULL || cli->said == NULL || cli->inputs == NULL) {
        struct inq_err err = {0};
        (void)inq_err_set(&err, INQ_NOMEM, "no memory for the arguments");
        return inq_cli_fail(cli, &err, NULL);
    }
    int skip;
    int status = choose_command(argc, argv, cli, &skip);
    bool options = true;
    for (int i = 1; i < argc && status == INQ_EXIT_OK; i++) {
        if (i == skip) {
            continue;
        }
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && is_option(argv[i])) {
            status = parse_option(cli, argv, &i);
        } else {
            cli->words[cli->n_words++] = argv[i];
        }
    }
    return status == INQ_EXIT_OK ? choose_format(cli) : status;
}

void inq_cli_release(struct inq_cli *cli)
{
    inq_mem_free(cli->words);
    inq_mem_free(cli->said);
    if (cli->inputs != NULL) {
        inq_mem_free(cli->inputs->files);
    }
    inq_mem_free(cli->inputs);
    cli->inputs = NULL;
    cli->words = NULL;
    cli->said = NULL;
}

const char *inq_cli_next_value(const struct inq_cli *cli, enum inq_option_id id, size_t *at)
{
    while (*at < cli->n_said) {
        const struct inq_said *said = &cli->said[(*at)++];
        if (said->id == id) {
            return said->value;
        }
    }
    return NULL;
}
