/* Configuration files, parsed line by line into one list in the order of the
 * file. Files are small, so looking up a key walks the list. Each look-up is
 * also recorded: the keys that the program asked for are the known ones, and
 * conf_check_known() needs no second list of them. */
#include "base/core/conf.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"

struct entry {
    const char *section; /* All in the arena. */
    const char *key;
    const char *value;
    unsigned line; /* From 1. */
    bool known;    /* The program asked for it. */
};

struct conf {
    struct arena arena;
    const char *name;
    struct entry *entries; /* Owned; in the order of the file. */
    size_t count;
    size_t cap;
    const char **asked; /* Keys that the program asked for; in the arena. */
    struct conf_setting *settings; /* The same with sections, without values;
                                      as many. */
    size_t asked_count;
    size_t asked_cap;
};

/* --- parsing ------------------------------------------------------------- */

static int
bad_line(const struct conf *c, unsigned line, struct err *err, const char *what)
{
    return err_set(err, ERR_INVALID, "%s:%u: %s", c->name, line, what);
}

static bool is_name(struct slice s)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    for (size_t i = 0; i < s.len; i++)
        if (!s.data[i] || !strchr(allowed, s.data[i]))
            return false;
    return s.len > 0;
}

/* Up to a comment: a # at the start or after a space. */
static struct slice without_comment(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] == '#' &&
            (i == 0 || s.data[i - 1] == ' ' || s.data[i - 1] == '\t'))
            return slice_trim(slice_sub(s, 0, i));
    return slice_trim(s);
}

/* Index of the quote that ends the string begun by s.data[0]; s.len if none. */
static size_t closing_quote(struct slice s)
{
    size_t at = 1;
    while (at < s.len && s.data[at] != '"')
        at += s.data[at] == '\\' ? 2 : 1;
    return MIN_OF(at, s.len);
}

static int parse_value(struct conf *c,
                       unsigned line,
                       struct slice s,
                       const char **out,
                       struct err *err)
{
    struct buf b = BUF_INIT;
    size_t end;
    int rc;
    s = slice_trim(s);
    if (s.len == 0 || s.data[0] != '"') {
        *out = arena_dup(&c->arena, without_comment(s)).data;
        return 0;
    }
    end = closing_quote(s);
    if (end == s.len)
        return bad_line(c, line, err, "the quote is not closed");
    if (without_comment(slice_sub(s, end + 1, s.len)).len)
        return bad_line(c, line, err, "text after the closing quote");
    rc = text_unescape(slice_sub(s, 1, end), &b, err);
    if (rc == 0 && memchr(buf_slice(&b).data, '\0', b.len))
        rc = err_set(err, ERR_INVALID, "a value holds no zero byte");
    if (rc == 0)
        *out = arena_dup(&c->arena, buf_slice(&b)).data;
    else
        err_wrap(err, "%s:%u", c->name, line);
    buf_close(&b);
    return rc;
}

static int parse_section(struct conf *c,
                         unsigned line,
                         struct slice s,
                         const char **section,
                         struct err *err)
{
    s = without_comment(s);
    if (s.len < 2 || s.data[s.len - 1] != ']')
        return bad_line(c, line, err, "expected ] after the section's name");
    s = slice_trim(slice_sub(s, 1, s.len - 1));
    if (!is_name(s))
        return bad_line(c, line, err,
                        "a section's name is letters, digits, "
                        "'_', '-' and '.'");
    *section = arena_dup(&c->arena, s).data;
    return 0;
}

static int parse_entry(struct conf *c,
                       unsigned line,
                       struct slice s,
                       const char *section,
                       struct err *err)
{
    struct entry e = {.section = section, .line = line};
    size_t equals = slice_find_byte(s, '=');
    struct slice key = slice_trim(slice_sub(s, 0, equals));
    int rc;
    if (equals == s.len)
        return bad_line(c, line, err, "expected key = value or [section]");
    if (!is_name(key))
        return bad_line(c, line, err,
                        "a key is letters, digits, '_', '-' and '.'");
    rc = parse_value(c, line, slice_sub(s, equals + 1, s.len), &e.value, err);
    if (rc)
        return rc;
    e.key = arena_dup(&c->arena, key).data;
    if (c->count == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 16;
        c->entries = mem_realloc(c->entries, c->cap * sizeof(*c->entries));
    }
    c->entries[c->count++] = e;
    return 0;
}

static int parse_text(struct conf *c, struct slice text, struct err *err)
{
    const char *section = "";
    for (unsigned line = 1; text.len; line++) {
        size_t end = slice_find_byte(text, '\n');
        struct slice s = slice_trim(slice_sub(text, 0, end));
        int rc = 0;
        if (memchr(s.data, '\0', s.len))
            rc = bad_line(c, line, err, "a zero byte: not a text file");
        else if (s.len && s.data[0] == '[')
            rc = parse_section(c, line, s, &section, err);
        else if (s.len && s.data[0] != '#')
            rc = parse_entry(c, line, s, section, err);
        if (rc)
            return rc;
        text = slice_sub(text, end + 1, text.len);
    }
    return 0;
}

int conf_parse(struct slice text,
               const char *name,
               struct conf **out,
               struct err *err)
{
    struct conf *c;
    int rc;
    *out = NULL;
    if (text.len > CONF_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "%s: over 1 MiB: not a configuration",
                       name);
    c = mem_zalloc(1, sizeof(*c));
    arena_init(&c->arena);
    c->name = arena_strdup(&c->arena, name);
    rc = parse_text(c, text, err);
    if (rc) {
        conf_free(c);
        return rc;
    }
    *out = c;
    return 0;
}

void conf_free(struct conf *c)
{
    if (!c)
        return;
    arena_close(&c->arena);
    mem_free(c->entries);
    mem_free(c->asked);
    mem_free(c->settings);
    mem_free(c);
}

/* --- look-ups ------------------------------------------------------------ */

static void note_asked(struct conf *c, const char *section, const char *key)
{
    size_t i;
    for (i = 0; i < c->asked_count; i++)
        if (strcmp(c->asked[i], key) == 0 &&
            strcmp(c->settings[i].section, section) == 0)
            return;
    if (c->asked_count == c->asked_cap) {
        c->asked_cap = c->asked_cap ? c->asked_cap * 2 : 16;
        c->asked = mem_realloc(c->asked, c->asked_cap * sizeof(*c->asked));
        c->settings =
            mem_realloc(c->settings, c->asked_cap * sizeof(*c->settings));
    }
    c->asked[i] = arena_strdup(&c->arena, key);
    c->settings[i] = (struct conf_setting){
        .section = arena_strdup(&c->arena, section), .key = c->asked[i]};
    c->asked_count++;
}

/* SIZE_MAX as @nth finds the last one, which is in force. */
static struct entry *conf_find_entry(struct conf *c,
                                     const char *section,
                                     const char *key,
                                     size_t nth)
{
    struct entry *last = NULL;
    note_asked(c, section, key);
    for (size_t i = 0; i < c->count; i++) {
        struct entry *e = &c->entries[i];
        if (strcmp(e->section, section) != 0 || strcmp(e->key, key) != 0)
            continue;
        e->known = true;
        if (nth == 0)
            return e;
        if (nth != SIZE_MAX)
            nth--;
        else
            last = e;
    }
    return last;
}

const char *conf_get(struct conf *c, const char *section, const char *key)
{
    struct entry *e = conf_find_entry(c, section, key, SIZE_MAX);
    return e ? e->value : NULL;
}

static int conf_wrap_error(const struct conf *c,
                           const struct entry *e,
                           int rc,
                           struct err *err)
{
    if (rc)
        err_wrap(err, "%s:%u: %s", c->name, e->line, e->key);
    return rc;
}

/* The value of @key by @parse, a parser of text.h. */
static int conf_get_number(struct conf *c,
                           const char *section,
                           const char *key,
                           int (*parse)(struct slice, uint64_t *, struct err *),
                           uint64_t *out,
                           struct err *err)
{
    struct entry *e = conf_find_entry(c, section, key, SIZE_MAX);
    return e ? conf_wrap_error(c, e, parse(slice_str(e->value), out, err), err)
             : 0;
}

int conf_get_u64(struct conf *c,
                 const char *section,
                 const char *key,
                 uint64_t *out,
                 struct err *err)
{
    return conf_get_number(c, section, key, text_parse_u64, out, err);
}

int conf_get_bytes(struct conf *c,
                   const char *section,
                   const char *key,
                   uint64_t *out,
                   struct err *err)
{
    return conf_get_number(c, section, key, text_parse_bytes, out, err);
}

int conf_get_duration(struct conf *c,
                      const char *section,
                      const char *key,
                      uint64_t *us,
                      struct err *err)
{
    return conf_get_number(c, section, key, text_parse_duration, us, err);
}

int conf_get_bool(struct conf *c,
                  const char *section,
                  const char *key,
                  bool *out,
                  struct err *err)
{
    struct entry *e = conf_find_entry(c, section, key, SIZE_MAX);
    return e ? conf_wrap_error(
                   c, e, text_parse_bool(slice_str(e->value), out, err), err)
             : 0;
}

void conf_each(const struct conf *c,
               void (*fn)(void *ctx, const struct conf_setting *s),
               void *ctx)
{
    for (size_t i = 0; i < c->asked_count; i++) {
        struct conf_setting s = c->settings[i];
        for (size_t k = 0; k < c->count; k++)
            if (strcmp(c->entries[k].section, s.section) == 0 &&
                strcmp(c->entries[k].key, s.key) == 0) {
                s.value = c->entries[k].value;
                s.line = c->entries[k].line;
            }
        fn(ctx, &s);
    }
}

static int
conf_refuse_entry(const struct conf *c, const struct entry *e, struct err *err)
{
    const char *near =
        text_nearest(slice_str(e->key), c->asked, c->asked_count);
    err_set(err, ERR_INVALID, "%s:%u: unknown key %s%s%s%s", c->name, e->line,
            e->key, e->section[0] ? " in section [" : "", e->section,
            e->section[0] ? "]" : "");
    if (near && strcmp(near, e->key) != 0)
        err_hint(err, "did you mean %s?", near);
    else if (near)
        err_hint(err, "%s belongs into another section", near);
    return ERR_INVALID;
}

int conf_check_known(struct conf *c, struct err *err)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->entries[i].known)
            return conf_refuse_entry(c, &c->entries[i], err);
    return 0;
}

int conf_check_section(struct conf *c, const char *section, struct err *err)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->entries[i].known && strcmp(c->entries[i].section, section) == 0)
            return conf_refuse_entry(c, &c->entries[i], err);
    return 0;
}
