/* A recursive descent over the text, which evaluates as it parses, so that no
 * tree is built. Depth is bounded.
 */
#include "bigtable/gateway/backup_filter.h"

#include <stdint.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "base/core/text.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/backup_field.h"

#define DEPTH_MAX 16

enum filter_op {
    OP_HAS,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE
};

/* Longer ones precede their prefixes. */
static const struct {
    const char *text;
    enum filter_op op;
} operators[] = {
    {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE}, {":", OP_HAS},
    {"=", OP_EQ},  {"<", OP_LT},  {">", OP_GT},
};

struct filter_parser {
    const struct list_fields *fields;
    struct slice rest; /* Of the filter. */
    struct slice backup;
    struct err *err;
};

/* --- words --------------------------------------------------------------- */

static bool backup_filter_contains(struct slice text, struct slice part)
{
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (backup_text_equal(slice_sub(text, i, i + part.len), part))
            return true;
    return false;
}

static void backup_filter_consume(struct filter_parser *j, size_t n)
{
    PRE(n <= j->rest.len);
    j->rest = slice_sub(j->rest, n, j->rest.len);
}

static void skip_space(struct filter_parser *j)
{
    while (j->rest.len > 0 &&
           (j->rest.data[0] == ' ' || j->rest.data[0] == '\t' ||
            j->rest.data[0] == '\n'))
        backup_filter_consume(j, 1);
}

/* Consume @text if it comes next. */
static bool take_text(struct filter_parser *j, const char *text)
{
    skip_space(j);
    if (!slice_starts_with(j->rest, slice_str(text)))
        return false;
    backup_filter_consume(j, slice_str(text).len);
    return true;
}

/* Does @c end a word? An operator ends a field's name. */
static bool ends_word(char c, bool in_name)
{
    return slice_find_byte(SLICE_LIT(" \t\n()\""), c) < 6 ||
           (in_name && slice_find_byte(SLICE_LIT(":=!<>"), c) < 5);
}

static struct slice peek_word(struct filter_parser *j, bool in_name)
{
    size_t n = 0;
    skip_space(j);
    while (n < j->rest.len && !ends_word(j->rest.data[n], in_name))
        n++;
    return slice_sub(j->rest, 0, n);
}

static bool take_keyword(struct filter_parser *j, const char *keyword)
{
    struct slice word = peek_word(j, true);
    if (!backup_text_equal(word, slice_str(keyword)))
        return false;
    backup_filter_consume(j, word.len);
    return true;
}

static int backup_filter_syntax_error(struct filter_parser *j, const char *what)
{
    return err_set(j->err, ERR_INVALID, "filter: %s expected at '%.*s'", what,
                   SLICE_ARG(slice_sub(j->rest, 0, 40)));
}

static int take_value(struct filter_parser *j, struct slice *out)
{
    size_t end;
    skip_space(j);
    if (!take_text(j, "\"")) {
        *out = peek_word(j, false);
        backup_filter_consume(j, out->len);
        return out->len > 0 ? 0 : backup_filter_syntax_error(j, "a value");
    }
    end = slice_find_byte(j->rest, '"');
    if (end == j->rest.len)
        return backup_filter_syntax_error(j, "the end of a text in quotes");
    *out = slice_sub(j->rest, 0, end);
    backup_filter_consume(j, end + 1);
    return 0;
}

/* --- comparisons --------------------------------------------------------- */

static bool is_fit(enum filter_op op, int order)
{
    switch (op) {
    case OP_HAS:
    case OP_EQ: return order == 0;
    case OP_NE: return order != 0;
    case OP_LT: return order < 0;
    case OP_LE: return order <= 0;
    case OP_GT: return order > 0;
    case OP_GE: return order >= 0;
    }
    return false;
}

static int order_of_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Parse @value as the number that fields of @kind are compared by. */
static int number_of(struct filter_parser *j,
                     enum backup_field_kind kind,
                     struct slice value,
                     int64_t *n)
{
    static const char *const states[] = {
        [PB_Backup_State_STATE_UNSPECIFIED] = "STATE_UNSPECIFIED",
        [PB_Backup_State_CREATING] = "CREATING",
        [PB_Backup_State_READY] = "READY",
    };
    uint64_t size;
    if (kind == BACKUP_FIELD_TRUTH) {
        *n = backup_text_equal(value, SLICE_LIT("true"));
        return *n || backup_text_equal(value, SLICE_LIT("false"))
                   ? 0
                   : backup_filter_syntax_error(
                         j, "true or false before what stands");
    }
    if (kind == BACKUP_FIELD_TIME)
        return text_parse_time(value, n, j->err);
    if (kind == BACKUP_FIELD_SIZE) {
        int rc = text_parse_u64(value, &size, j->err);
        *n = rc || size > INT64_MAX ? INT64_MAX : (int64_t)size;
        return rc;
    }
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (backup_text_equal(value, slice_str(states[i]))) {
            *n = (int64_t)i;
            return 0;
        }
    return backup_filter_syntax_error(j,
                                      "CREATING or READY before what stands");
}

static int backup_filter_compare(struct filter_parser *j,
                                 const struct backup_field *f,
                                 enum filter_op op,
                                 struct slice value,
                                 bool *fits)
{
    struct slice text = pb_find(j->backup, f->number);
    int64_t wanted;
    int rc;
    if (f->kind == BACKUP_FIELD_TEXT) {
        *fits = op == OP_HAS ? backup_filter_contains(text, value)
                             : is_fit(op, backup_text_compare(text, value));
        return 0;
    }
    rc = number_of(j, f->kind, value, &wanted);
    *fits =
        rc == 0 &&
        is_fit(op, order_of_numbers(backup_field_number(f, j->backup), wanted));
    return rc;
}

static int take_comparison(struct filter_parser *j, bool *fits)
{
    struct slice name = peek_word(j, true);
    const struct backup_field *f = j->fields->find(name);
    struct slice value = SLICE_EMPTY;
    int rc;
    if (!f)
        return err_set(j->err, ERR_INVALID,
                       "filter: a field (%s) expected at '%.*s'",
                       j->fields->names, SLICE_ARG(slice_sub(j->rest, 0, 40)));
    backup_filter_consume(j, name.len);
    for (size_t i = 0; i < ARRAY_LEN(operators); i++)
        if (take_text(j, operators[i].text)) {
            rc = take_value(j, &value);
            return rc ? rc
                      : backup_filter_compare(j, f, operators[i].op, value,
                                              fits);
        }
    return backup_filter_syntax_error(j, "an operator");
}

/* --- expressions --------------------------------------------------------- */

static int take_filter(struct filter_parser *j, unsigned depth, bool *fits);

static int take_term(struct filter_parser *j, unsigned depth, bool *fits)
{
    bool negated = take_keyword(j, "NOT");
    int rc;
    if (take_text(j, "(")) {
        rc = take_filter(j, depth + 1, fits);
        if (rc == 0 && !take_text(j, ")"))
            rc = backup_filter_syntax_error(j, "')'");
    } else {
        rc = take_comparison(j, fits);
    }
    *fits = *fits != negated;
    return rc;
}

static bool is_over(struct filter_parser *j)
{
    skip_space(j);
    return j->rest.len == 0 || j->rest.data[0] == ')';
}

/* Terms joined by AND, or by nothing, which means the same. */
static int take_all(struct filter_parser *j, unsigned depth, bool *fits)
{
    int rc = take_term(j, depth, fits);
    while (rc == 0 && !is_over(j) &&
           !backup_text_equal(peek_word(j, true), SLICE_LIT("OR"))) {
        bool other = false;
        (void)take_keyword(j, "AND");
        rc = take_term(j, depth, &other);
        *fits = *fits && other;
    }
    return rc;
}

static int take_filter(struct filter_parser *j, unsigned depth, bool *fits)
{
    int rc;
    if (depth > DEPTH_MAX)
        return err_set(j->err, ERR_INVALID, "filter: it is nested too deep");
    rc = take_all(j, depth, fits);
    while (rc == 0 && take_keyword(j, "OR")) {
        bool other = false;
        rc = take_all(j, depth, &other);
        *fits = *fits || other;
    }
    return rc;
}

int list_filter_fits(const struct list_fields *fields,
                     struct slice filter,
                     struct slice message,
                     bool *fits,
                     struct err *err)
{
    struct filter_parser j = {fields, filter, message, err};
    int rc;
    *fits = true;
    skip_space(&j);
    if (j.rest.len == 0)
        return 0;
    rc = take_filter(&j, 0, fits);
    if (rc == 0 && j.rest.len > 0)
        rc = backup_filter_syntax_error(&j, "the end");
    return rc;
}

int backup_filter_fits(struct slice filter,
                       struct slice backup,
                       bool *fits,
                       struct err *err)
{
    static const struct list_fields of_backups = {backup_field_find,
                                                  BACKUP_FIELD_NAMES};
    return list_filter_fits(&of_backups, filter, backup, fits, err);
}
