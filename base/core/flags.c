/* Command-line options: one pass over argv against a table. */
#include "base/core/flags.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/text.h"

/* --- lists ------------------------------------------------------------- */

static void list_add(struct flag_list *l, const char *item)
{
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 8;
        l->items = mem_realloc(l->items, l->cap * sizeof(*l->items));
    }
    l->items[l->count++] = item;
}

void flag_list_close(struct flag_list *l)
{
    mem_free(l->items);
    *l = (struct flag_list){NULL, 0, 0};
}

/* --- values ------------------------------------------------------------ */

static int set_choice(const struct flag *f, const char *value, struct err *err)
{
    struct slice s = slice_str(value);
    char all[200] = "";
    size_t at = 0;
    for (const char *const *c = f->choices; *c; c++) {
        if (slice_eq_str(s, *c)) {
            *(const char **)f->into = *c;
            return 0;
        }
        for (const char *p = c == f->choices ? "" : ", ";
             *p && at < sizeof(all) - 1; p++)
            all[at++] = *p;
        for (const char *p = *c; *p && at < sizeof(all) - 1; p++)
            all[at++] = *p;
    }
    all[at] = '\0';
    return err_set(err, ERR_INVALID, "\"%s\" is not one of: %s", value, all);
}

static int set_value(const struct flag *f, const char *value, struct err *err)
{
    struct slice s = slice_str(value);
    switch (f->kind) {
    case FLAG_KIND_SWITCH: return text_parse_bool(s, f->into, err);
    case FLAG_KIND_STRING: *(const char **)f->into = value; return 0;
    case FLAG_KIND_LIST: list_add(f->into, value); return 0;
    case FLAG_KIND_U64: return text_parse_u64(s, f->into, err);
    case FLAG_KIND_I64: return text_parse_i64(s, f->into, err);
    case FLAG_KIND_DOUBLE: return text_parse_double(s, f->into, err);
    case FLAG_KIND_BYTES: return text_parse_bytes(s, f->into, err);
    case FLAG_KIND_DURATION: return text_parse_duration(s, f->into, err);
    case FLAG_KIND_TIME: return text_parse_time(s, f->into, err);
    case FLAG_KIND_CHOICE: return set_choice(f, value, err);
    case FLAG_KIND_HEADING: break;
    }
    PANIC("a heading has no value");
}

/* --- finding ----------------------------------------------------------- */

/* An argument taken apart; strings are borrowed from argv. */
struct match {
    const struct flag *flag; /* NULL: unknown. */
    const char *value;       /* Inside the same argument, or NULL. */
    bool negated;            /* --no-name. */
};

static const struct flag *
find_name(const struct flag *flags, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++)
        if (flags[i].name && slice_eq_str(name, flags[i].name))
            return &flags[i];
    return NULL;
}

static const struct flag *
find_letter(const struct flag *flags, size_t count, char letter)
{
    for (size_t i = 0; i < count; i++)
        if (flags[i].letter && flags[i].letter == letter)
            return &flags[i];
    return NULL;
}

/* "--name", "--name=value" or "--no-name"; @text is without the dashes. */
static struct match
match_long(const struct flag *flags, size_t count, const char *text)
{
    struct slice whole = slice_str(text);
    size_t len = slice_find_byte(whole, '=');
    struct slice name = slice_sub(whole, 0, len);
    struct match m = {.value = len < whole.len ? text + len + 1 : NULL};
    m.flag = find_name(flags, count, name);
    if (!m.flag && slice_starts_with(name, SLICE_LIT("no-"))) {
        m.flag = find_name(flags, count, slice_sub(name, 3, name.len));
        m.negated = true;
        if (m.flag && m.flag->kind != FLAG_KIND_SWITCH)
            m.flag = NULL;
    }
    return m;
}

/* "-n" or "-nVALUE"; @text is without the dash. */
static struct match
match_short(const struct flag *flags, size_t count, const char *text)
{
    struct match m = {.flag = find_letter(flags, count, text[0])};
    if (text[1])
        m.value = text + 1;
    return m;
}

static struct match
match_argument(const struct flag *flags, size_t count, const char *arg)
{
    return arg[1] == '-' ? match_long(flags, count, arg + 2)
                         : match_short(flags, count, arg + 1);
}

/* "-" alone and negative numbers are arguments. */
static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1] && !(arg[1] >= '0' && arg[1] <= '9') &&
           arg[1] != '.';
}

#define SUGGESTIONS_MAX 128

static int unknown(const struct flag *flags,
                   size_t count,
                   const char *arg,
                   struct err *err)
{
    const char *names[SUGGESTIONS_MAX];
    size_t n = 0;
    struct slice word = slice_str(arg);
    const char *near = NULL;
    word = slice_sub(word, 0, slice_find_byte(word, '='));
    for (size_t i = 0; i < count && n < SUGGESTIONS_MAX; i++)
        if (flags[i].name)
            names[n++] = flags[i].name;
    err_set(err, ERR_INVALID, "unknown option %.*s", SLICE_ARG(word));
    if (word.len > 2 && word.data[1] == '-')
        near = text_nearest(slice_sub(word, 2, word.len), names, n);
    if (near)
        err_hint(err, "did you mean --%s?", near);
    return ERR_INVALID;
}

/* --- parsing ----------------------------------------------------------- */

static int set_switch(const struct match *m, struct err *err)
{
    const struct flag *f = m->flag;
    if (!m->value) {
        *(bool *)f->into = !m->negated;
        return 0;
    }
    if (m->negated)
        return err_set(err, ERR_INVALID, "takes no value");
    return set_value(f, m->value, err);
}

/* Apply argv[*at]; steps *at over a value that is an argument of its own. */
static int apply(const struct flag *flags,
                 size_t count,
                 int argc,
                 char *const *argv,
                 int *at,
                 struct err *err)
{
    const char *arg = argv[*at];
    struct match m = match_argument(flags, count, arg);
    int rc;
    if (!m.flag)
        return unknown(flags, count, arg, err);
    if (m.flag->kind == FLAG_KIND_SWITCH && arg[1] != '-' && m.value)
        return err_set(err, ERR_INVALID, "option -%c takes no value: %s",
                       arg[1], arg);
    if (m.flag->kind == FLAG_KIND_SWITCH) {
        rc = set_switch(&m, err);
    } else if (m.value) {
        rc = set_value(m.flag, m.value, err);
    } else if (*at + 1 < argc) {
        rc = set_value(m.flag, argv[++*at], err);
    } else {
        rc = err_set(err, ERR_INVALID, "needs a value%s%s",
                     m.flag->value_name ? ": " : "",
                     m.flag->value_name ? m.flag->value_name : "");
    }
    if (rc)
        err_wrap(err, "option --%s", m.flag->name);
    return rc;
}

int flags_parse(const struct flag *flags,
                size_t count,
                int argc,
                char *const *argv,
                struct flag_list *rest,
                struct err *err)
{
    bool options = true;
    for (int i = 0; i < argc; i++) {
        int rc;
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
            continue;
        }
        if (!options || !is_option(argv[i])) {
            list_add(rest, argv[i]);
            continue;
        }
        rc = apply(flags, count, argc, argv, &i, err);
        if (rc)
            return rc;
    }
    return 0;
}

bool flags_given(const struct flag *flags,
                 size_t count,
                 int argc,
                 char *const *argv,
                 const char *name)
{
    bool given = false;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        struct match m;
        if (!is_option(argv[i]))
            continue;
        m = match_argument(flags, count, argv[i]);
        if (!m.flag)
            continue;
        given = given || strcmp(m.flag->name, name) == 0;
        if (!m.value && m.flag->kind != FLAG_KIND_SWITCH)
            i++;
    }
    return given;
}

/* --- help -------------------------------------------------------------- */

/* Columns left for the options themselves before the explanations start. */
#define HELP_INDENT_MIN 16
#define HELP_INDENT_MAX 32

static void put_usage(const struct flag *f, struct buf *out)
{
    if (f->letter)
        buf_printf(out, "  -%c, --%s", f->letter, f->name);
    else
        buf_printf(out, "      --%s", f->name);
    if (f->value_name)
        buf_printf(out, " %s", f->value_name);
}

/* Append @text in words, going to a new line before @columns. @used columns of
 * the first line are taken. */
static void put_wrapped(struct slice text,
                        size_t indent,
                        size_t used,
                        size_t columns,
                        struct buf *out)
{
    bool first = true;
    while (text.len) {
        size_t n = slice_find_byte(text, ' ');
        size_t width = utf8_columns(slice_sub(text, 0, n));
        if (!first && used + 1 + width > columns) {
            buf_append_byte(out, '\n');
            buf_append_fill(out, ' ', indent);
            used = indent;
        } else if (!first) {
            buf_append_byte(out, ' ');
            used++;
        }
        buf_append_slice(out, slice_sub(text, 0, n));
        used += width;
        first = false;
        text = slice_sub(text, n + 1, text.len);
    }
    buf_append_byte(out, '\n');
}

static size_t help_indent(const struct flag *flags, size_t count)
{
    struct buf line = BUF_INIT;
    size_t indent = HELP_INDENT_MIN;
    for (size_t i = 0; i < count; i++) {
        if (!flags[i].name)
            continue;
        buf_clear(&line);
        put_usage(&flags[i], &line);
        if (line.len + 2 <= HELP_INDENT_MAX)
            indent = MAX_OF(indent, line.len + 2);
    }
    buf_close(&line);
    return indent;
}

void flags_help(const struct flag *flags,
                size_t count,
                size_t columns,
                struct buf *out)
{
    size_t indent = help_indent(flags, count);
    for (size_t i = 0; i < count; i++) {
        size_t start = out->len;
        if (flags[i].kind == FLAG_KIND_HEADING) {
            buf_printf(out, "%s\n", flags[i].help);
            continue;
        }
        put_usage(&flags[i], out);
        if (out->len - start + 2 > indent) {
            buf_append_byte(out, '\n');
            start = out->len;
        }
        buf_append_fill(out, ' ', indent - (out->len - start));
        put_wrapped(slice_str(flags[i].help), indent, indent, columns, out);
    }
}
