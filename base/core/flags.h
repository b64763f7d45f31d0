/* Command-line options from a table: parsing, help text, suggestions.
 *
 *     struct scan_flags f = {.versions = 1};
 *     const struct flag table[] = {
 *         FLAG_STRING("start", 0, "ROW", "first row", &f.start),
 *         FLAG_U64("versions", 'n', "N", "newest cells per column",
 *                  &f.versions),
 *         FLAG_SWITCH("keys-only", 0, "print row keys alone", &f.keys_only),
 *     };
 *     rc = flags_parse(table, ARRAY_LEN(table), argc, argv, &rest, &err);
 *
 * Options and other arguments may mix; "--" ends the options. Values follow as
 * "--name VALUE", "--name=VALUE", "-n VALUE" or "-nVALUE"; a switch is "--name"
 * or "--no-name". The last of a repeated option counts, except for lists.
 * Strings are borrowed from argv.
 */
#ifndef BASE_CORE_FLAGS_H
#define BASE_CORE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

struct buf;

enum flag_kind {
    FLAG_KIND_SWITCH,   /* bool */
    FLAG_KIND_STRING,   /* const char * */
    FLAG_KIND_LIST,     /* struct flag_list: may be given many times */
    FLAG_KIND_U64,      /* uint64_t */
    FLAG_KIND_I64,      /* int64_t */
    FLAG_KIND_DOUBLE,   /* double */
    FLAG_KIND_BYTES,    /* uint64_t; "64KiB" */
    FLAG_KIND_DURATION, /* uint64_t µs; "7d" */
    FLAG_KIND_TIME,     /* int64_t µs since 1970; RFC 3339 */
    FLAG_KIND_CHOICE,   /* const char *: one of `choices` */
    FLAG_KIND_HEADING,  /* No option: a line of the help text */
};

struct flag {
    const char *name; /* Without the dashes. */
    char letter;      /* Short form, or 0. */
    enum flag_kind kind;
    const char *value_name; /* In the help text: "N". NULL for switches. */
    const char *help;       /* One sentence without a full stop. */
    void *into;             /* Where the value goes; of the kind's type. Left
                               alone when the option is not given. */
    const char *const *choices; /* NULL-terminated; FLAG_KIND_CHOICE. */
};

/* name, letter, value's name, help, variable (whose type is checked). */
#define FLAG_SWITCH(n, l, h, p)                                                \
    {                                                                          \
        n, l, FLAG_KIND_SWITCH, NULL, h, (bool *){p}, NULL                     \
    }
#define FLAG_STRING(n, l, v, h, p)                                             \
    {                                                                          \
        n, l, FLAG_KIND_STRING, v, h, (const char **){p}, NULL                 \
    }
#define FLAG_LIST(n, l, v, h, p)                                               \
    {                                                                          \
        n, l, FLAG_KIND_LIST, v, h, (struct flag_list *){p}, NULL              \
    }
#define FLAG_U64(n, l, v, h, p)                                                \
    {                                                                          \
        n, l, FLAG_KIND_U64, v, h, (uint64_t *){p}, NULL                       \
    }
#define FLAG_I64(n, l, v, h, p)                                                \
    {                                                                          \
        n, l, FLAG_KIND_I64, v, h, (int64_t *){p}, NULL                        \
    }
#define FLAG_DOUBLE(n, l, v, h, p)                                             \
    {                                                                          \
        n, l, FLAG_KIND_DOUBLE, v, h, (double *){p}, NULL                      \
    }
#define FLAG_BYTES(n, l, v, h, p)                                              \
    {                                                                          \
        n, l, FLAG_KIND_BYTES, v, h, (uint64_t *){p}, NULL                     \
    }
#define FLAG_DURATION(n, l, v, h, p)                                           \
    {                                                                          \
        n, l, FLAG_KIND_DURATION, v, h, (uint64_t *){p}, NULL                  \
    }
#define FLAG_TIME(n, l, v, h, p)                                               \
    {                                                                          \
        n, l, FLAG_KIND_TIME, v, h, (int64_t *){p}, NULL                       \
    }
#define FLAG_CHOICE(n, l, v, h, p, c)                                          \
    {                                                                          \
        n, l, FLAG_KIND_CHOICE, v, h, (const char **){p}, c                    \
    }
#define FLAG_HEADING(h)                                                        \
    {                                                                          \
        NULL, 0, FLAG_KIND_HEADING, NULL, h, NULL, NULL                        \
    }

/* Values of a repeated option, or the arguments that are no options. The array
 * is owned (flag_list_close), the strings are argv's. */
struct flag_list {
    const char **items;
    size_t count;
    size_t cap;
};

void flag_list_close(struct flag_list *l);

/* Parse argv[0..argc) (the program's and command's names stripped off) into the
 * table's variables and @rest.
 * Errors: ERR_INVALID: an unknown option (with the nearest known one as hint),
 * a missing or malformed value, a value given to a switch. Lists may then hold
 * what came before. */
MUST_CHECK int flags_parse(const struct flag *flags,
                           size_t count,
                           int argc,
                           char *const *argv,
                           struct flag_list *rest,
                           struct err *err);

/* Was the option @name given in argv? For values without a neutral default. */
bool flags_given(const struct flag *flags,
                 size_t count,
                 int argc,
                 char *const *argv,
                 const char *name);

/* Append one aligned line or more per option, wrapped at @columns:
 *   -n, --versions N   newest cells per column
 */
void flags_help(const struct flag *flags,
                size_t count,
                size_t columns,
                struct buf *out);

#endif /* BASE_CORE_FLAGS_H */
