/* Parsing of a command line into words and options, by the command's table.
 * Unknown options are refused with the nearest known one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/suggest.h"

#define OPTION_NAME_BYTES_MAX 64

const struct option global_options[] = {
    {"target", 't', "TARGET",
     "the store, file:DIR, or a cluster, HOST:PORT,… or\n"
     "cluster:DIR (quarry cluster); if not given\n"
     "$QUARRY_TARGET, else file:./quarry-data"},
    {"key", 0, "FILE",
     "of a cluster, its key; if not given $QUARRY_KEY, and\n"
     "with the target cluster:DIR its own"},
    {"encryption-key", 0, "FILE",
     "of a directory, its master key (see quarry encryption);\n"
     "if not given $QUARRY_ENCRYPTION_KEY"},
    {"format", 0, "FORMAT", "text (default), json (one object a line) or csv"},
    {"wait", 0, "SECONDS",
     "wait so long for a directory that another process\n"
     "writes: one at a time does, any number read"},
    {"trace", 0, NULL,
     "of a cluster: keep spans of all that the command does there,\n"
     "and print the trace's id (see quarry trace)"},
    {"quiet", 'q', NULL, "no progress and no remarks on standard error"},
    {"help", 'h', NULL, "this page"},
    {NULL, 0, NULL, NULL},
};

int usage_error(const struct args *args, struct err *err, const char *fmt, ...)
{
    PRE(args->command);

    char text[ERR_TEXT_BYTES / 2];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (*args->command->name) {
        err_set(err, ERR_USAGE, "%s: %s", args->command->name, text);
        err_hint(err, "see: quarry %s --help", args->command->name);
    } else {
        err_set(err, ERR_USAGE, "%s", text);
        err_hint(err, "see: quarry help");
    }
    return ERR_USAGE;
}

/* The option sets of a command and the global ones, one after the other. */
static const struct option *option_set(const struct command *c, size_t i)
{
    if (i < COMMAND_OPTION_SETS && c->options[i])
        return c->options[i];
    return NULL;
}

static const struct option *
find_in(const struct option *set, const char *name, char letter)
{
    for (; set && set->name; set++)
        if (letter ? set->letter == letter : strcmp(set->name, name) == 0)
            return set;
    return NULL;
}

static const struct option *
find_option(const struct command *c, const char *name, char letter)
{
    for (size_t i = 0; i < COMMAND_OPTION_SETS; i++) {
        const struct option *o = find_in(option_set(c, i), name, letter);
        if (o)
            return o;
    }
    if (find_in(global_options, name, letter))
        return find_in(global_options, name, letter);
    return find_in(remote_options, name, letter);
}

static int
unknown_option(const struct args *args, const char *name, struct err *err)
{
    struct suggest s;
    suggest_init(&s, name);
    for (size_t i = 0; i < COMMAND_OPTION_SETS; i++)
        for (const struct option *o = option_set(args->command, i);
             o && o->name; o++)
            suggest_offer(&s, o->name);
    for (const struct option *o = global_options; o->name; o++)
        suggest_offer(&s, o->name);
    for (const struct option *o = remote_options; o->name; o++)
        suggest_offer(&s, o->name);
    err_set(err, ERR_USAGE, "%s: unknown option --%s", args->command->name,
            name);
    if (suggest_best(&s))
        err_hint(err, "did you mean --%s?", suggest_best(&s));
    err_hint(err, "see: quarry %s --help", args->command->name);
    return ERR_USAGE;
}

static void
add_option(struct args *args, const struct option *o, const char *value)
{
    PRE(o);
    args->options[args->option_count++] = (struct arg_option){o, value};
}

/* Where parsing stands: argv and the next index. */
struct cursor {
    int argc;
    const char *const *argv;
    int next;
};

static int take_value(struct args *args,
                      struct cursor *c,
                      const struct option *o,
                      const char *attached,
                      struct err *err)
{
    PRE(c->next <= c->argc);
    if (!o->argument) {
        if (attached)
            return usage_error(args, err, "--%s takes no value", o->name);
        add_option(args, o, NULL);
        return ERR_OK;
    }
    if (!attached) {
        if (c->next >= c->argc)
            return usage_error(args, err, "--%s needs a value: %s", o->name,
                               o->argument);
        attached = c->argv[c->next++];
    }
    add_option(args, o, attached);
    return ERR_OK;
}

/* "--name" or "--name=value"; @word is behind the hyphens. */
static int take_long(struct args *args,
                     struct cursor *c,
                     const char *word,
                     struct err *err)
{
    char name[OPTION_NAME_BYTES_MAX];
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const struct option *o;
    if (n >= sizeof(name))
        n = sizeof(name) - 1;
    INVARIANT(n < sizeof(name));
    for (size_t i = 0; i < n; i++)
        name[i] = word[i] == '_' ? '-' : word[i];
    name[n] = '\0';
    o = find_option(args->command, name, 0);
    if (!o)
        return unknown_option(args, name, err);
    return take_value(args, c, o, equals ? equals + 1 : NULL, err);
}

/* "-n", "-nVALUE" or "-n VALUE", and flags together: "-qh". */
static int take_letters(struct args *args,
                        struct cursor *c,
                        const char *word,
                        struct err *err)
{
    for (; *word; word++) {
        const struct option *o = find_option(args->command, "", *word);
        if (!o)
            return usage_error(args, err, "unknown option -%c", *word);
        if (o->argument)
            return take_value(args, c, o, word[1] ? word + 1 : NULL, err);
        add_option(args, o, NULL);
    }
    return ERR_OK;
}

/* A lone "-" is a word (standard input), and so is a negative number. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' &&
           !isdigit((unsigned char)word[1]);
}

static int take_all(struct args *args, struct cursor *c, struct err *err)
{
    PRE(c->next >= 0);
    while (c->next < c->argc) {
        const char *word = c->argv[c->next++];
        int rc = ERR_OK;
        if (strcmp(word, "--") == 0) {
            while (c->next < c->argc)
                args->words[args->word_count++] = c->argv[c->next++];
        } else if (strncmp(word, "--", 2) == 0) {
            rc = take_long(args, c, word + 2, err);
        } else if (is_option(word)) {
            rc = take_letters(args, c, word + 1, err);
        } else {
            args->words[args->word_count++] = word;
        }
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static int check_words(const struct args *args, struct err *err)
{
    const struct command *c = args->command;
    PRE(c->words_min <= c->words_max);
    if (args_flag(args, "help"))
        return ERR_OK;
    if (args->word_count < c->words_min)
        return usage_error(args, err, "expects %s", c->arguments);
    if (args->word_count > c->words_max)
        return usage_error(args, err, "unexpected argument '%s'",
                           args->words[c->words_max]);
    return ERR_OK;
}

int args_parse(const struct command *command,
               int argc,
               const char *const *argv,
               struct args *out,
               struct err *err)
{
    struct cursor c = {argc, argv, 0};
    /* A word gives at most one argument, but a group of letters several. */
    size_t most = 1;
    int rc;
    PRE(command);
    PRE(argc >= 0);
    for (int i = 0; i < argc; i++)
        most += strlen(argv[i]) + 1;
    *out = (struct args){.command = command};
    out->words = mem_zalloc((size_t)argc + 1, sizeof(*out->words));
    out->options = mem_zalloc(most, sizeof(*out->options));
    rc = take_all(out, &c, err);
    if (!rc)
        rc = check_words(out, err);
    if (rc)
        args_close(out);
    return rc;
}

void args_close(struct args *args)
{
    mem_free(args->words);
    mem_free(args->options);
    *args = (struct args){.command = args->command};
}

size_t args_count(const struct args *args, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < args->option_count; i++)
        n += strcmp(args->options[i].option->name, name) == 0;
    return n;
}

const char *args_nth(const struct args *args, const char *name, size_t index)
{
    for (size_t i = 0; i < args->option_count; i++)
        if (strcmp(args->options[i].option->name, name) == 0 && index-- == 0)
            return args->options[i].value;
    return NULL;
}

const char *args_global(const struct args *args, const char *name)
{
    for (size_t i = args->option_count; i > 0; i--) {
        const struct option *o = args->options[i - 1].option;
        if (find_in(global_options, name, 0) == o)
            return args->options[i - 1].value;
    }
    return NULL;
}

const char *args_value(const struct args *args, const char *name)
{
    size_t n = args_count(args, name);
    return n ? args_nth(args, name, n - 1) : NULL;
}

bool args_flag(const struct args *args, const char *name)
{
    return args_count(args, name) > 0;
}

int args_number(const struct args *args,
                const char *name,
                uint64_t min,
                uint64_t max,
                uint64_t *out,
                struct err *err)
{
    const char *s = args_value(args, name);
    char *end;
    unsigned long long v;
    PRE(min <= max);
    if (!s)
        return ERR_OK;
    errno = 0;
    v = strtoull(s, &end, 10);
    if (!isdigit((unsigned char)s[0]) || *end)
        return usage_error(args, err, "--%s: '%s' is no whole number from %llu",
                           name, s, (unsigned long long)min);
    if (errno || v < min || v > max)
        return usage_error(args, err, "--%s: %s is not from %llu to %llu", name,
                           s, (unsigned long long)min, (unsigned long long)max);
    *out = v;
    return ERR_OK;
}
