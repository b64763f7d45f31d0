/* Reading of "key=value" options, with messages that say what is allowed: the
 * range of a number, the names of a choice. Users type them, so spaces and
 * empty pieces are skipped.
 */
#include "bigtable/row/option_text.h"

#include <stdio.h>

#define NAMES_TEXT_BYTES 128

int option_text_next(struct option_text *t,
                     struct option_pair *pair,
                     bool *more,
                     struct err *err)
{
    *more = false;
    while (t->rest.len > 0) {
        size_t n = slice_find_byte(t->rest, ',');
        struct slice piece = slice_trim(slice_sub(t->rest, 0, n));
        size_t eq = slice_find_byte(piece, '=');
        t->rest = slice_sub(t->rest, n + 1, t->rest.len);
        if (piece.len == 0)
            continue;
        if (eq == piece.len)
            return err_set(err, ERR_INVALID,
                           "option \"%.*s\" is not of the form key=value",
                           SLICE_ARG(piece));
        pair->key = slice_trim(slice_sub(piece, 0, eq));
        pair->value = slice_trim(slice_sub(piece, eq + 1, piece.len));
        *more = true;
        return 0;
    }
    return 0;
}

static bool parse_integer(struct slice s, int64_t *out)
{
    bool negative = s.len > 0 && s.data[0] == '-';
    size_t i = negative ? 1 : 0;
    int64_t v = 0;
    if (i == s.len)
        return false;
    for (; i < s.len; i++) {
        int digit = s.data[i] - '0';
        if (digit < 0 || digit > 9 || v > (INT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = negative ? -v : v;
    return true;
}

int option_integer(const struct option_pair *p,
                   int64_t min,
                   int64_t max,
                   int64_t *out,
                   struct err *err)
{
    int64_t v;
    if (!parse_integer(p->value, &v) || v < min || v > max)
        return err_set(err, ERR_INVALID,
                       "%.*s=%.*s: it must be a number from %lld to %lld",
                       SLICE_ARG(p->key), SLICE_ARG(p->value), (long long)min,
                       (long long)max);
    *out = v;
    return 0;
}

/* Power of two a suffix stands for; -1 when it is none. */
static int unit_shift(struct slice unit)
{
    static const struct {
        const char *name;
        int shift;
    } units[] = {
        {"", 0},    {"B", 0},    {"K", 10}, {"KB", 10}, {"KiB", 10}, {"M", 20},
        {"MB", 20}, {"MiB", 20}, {"G", 30}, {"GB", 30}, {"GiB", 30},
    };

    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (slice_eq_str(unit, units[i].name))
            return units[i].shift;
    return -1;
}

int option_bytes(const struct option_pair *p,
                 uint64_t min,
                 uint64_t max,
                 uint64_t *out,
                 struct err *err)
{
    struct slice s = p->value;
    size_t n = 0;
    int64_t v;
    int shift;
    while (n < s.len && s.data[n] >= '0' && s.data[n] <= '9')
        n++;
    shift = unit_shift(slice_trim(slice_sub(s, n, s.len)));
    if (shift >= 0 && parse_integer(slice_sub(s, 0, n), &v) &&
        v <= INT64_MAX >> shift) {
        *out = (uint64_t)v << shift;
        if (*out >= min && *out <= max)
            return 0;
    }
    return err_set(err, ERR_INVALID,
                   "%.*s=%.*s: it must be a size from %lluKiB to %lluKiB, such "
                   "as 64KiB",
                   SLICE_ARG(p->key), SLICE_ARG(p->value),
                   (unsigned long long)(min >> 10),
                   (unsigned long long)(max >> 10));
}

int option_choice(const struct option_pair *p,
                  const char *const *names,
                  size_t *out,
                  struct err *err)
{
    char text[NAMES_TEXT_BYTES] = "";
    size_t len = 0;
    for (size_t i = 0; names[i]; i++) {
        if (slice_eq_str(p->value, names[i])) {
            *out = i;
            return 0;
        }
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                i ? ", " : "", names[i]);
    }
    return err_set(err, ERR_INVALID, "%.*s=%.*s: it must be one of %s",
                   SLICE_ARG(p->key), SLICE_ARG(p->value), text);
}
