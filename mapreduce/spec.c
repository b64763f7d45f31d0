/* SPECs of the command line: "kind:path?options". */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/key_range.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/job.h"

/* A Sawzall program is a page or two; its file is read whole. */
#define PROGRAM_BYTES_MAX ((uint64_t)4 << 20)

static const struct {
    const char *word;
    enum mr_spec_kind kind;
} kinds[] = {
    {"file:", MR_SPEC_FILE},
    {"records:", MR_SPEC_RECORDS},
    {"warc:", MR_SPEC_WARC},
    {"table:", MR_SPEC_TABLE},
};

static int spec_bad(struct err *err, const char *text, const char *why)
{
    int code = err_set(err, ERR_INVALID, "\"%s\": %s", text, why);
    err_hint(err, "an input is file:GLOB, records:GLOB, warc:GLOB or "
                  "table:NAME[?columns=F:Q,…&prefix=P&versions=N], an output "
                  "file:DIR, records:DIR or table:NAME[?bulk=yes]");
    return code;
}

/* "name=" before an output's kind. */
static const char *take_name(struct mr_spec *s, const char *text)
{
    size_t n = strcspn(text, "=:/?");
    if (n == 0 || text[n] != '=')
        return text;
    s->name = mem_strndup(text, n);
    return text + n + 1;
}

static const char *take_kind(struct mr_spec *s, const char *text)
{
    s->kind = MR_SPEC_FILE;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t n = strlen(kinds[i].word);
        if (strncmp(text, kinds[i].word, n) == 0) {
            s->kind = kinds[i].kind;
            return text + n;
        }
    }
    return text;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A copy of [p, p + len) with %XX made bytes. Owned. False: bad escape. */
static bool spec_unescape(const char *p, size_t len, struct slice *out)
{
    char *copy = mem_alloc(len + 1);
    size_t n = 0;
    *out = slice_make(copy, 0);
    for (size_t i = 0; i < len; i++) {
        if (p[i] != '%') {
            copy[n++] = p[i];
            continue;
        }
        if (i + 2 >= len || hex_digit(p[i + 1]) < 0 || hex_digit(p[i + 2]) < 0)
            return false;
        copy[n++] = (char)(hex_digit(p[i + 1]) * 16 + hex_digit(p[i + 2]));
        i += 2;
    }
    copy[n] = '\0';
    out->len = n;
    return true;
}

static void free_slice(struct slice s)
{
    mem_free((void *)(uintptr_t)s.data);
}

/* Columns are parted before their escapes are undone, so that a qualifier may
 * hold a comma. */
static bool take_columns(struct mr_spec *s, struct slice v)
{
    while (v.len > 0) {
        size_t n = slice_find_byte(v, ',');
        struct slice column;
        bool ok = spec_unescape(v.data, n, &column);
        s->columns =
            mem_realloc(s->columns, (s->column_count + 1) * sizeof(char *));
        s->columns[s->column_count++] = mem_strndup(column.data, column.len);
        ok = ok && slice_find_byte(column, ':') != column.len &&
             column.data[0] != ':' &&
             slice_find_byte(column, '\0') == column.len;
        free_slice(column);
        if (!ok)
            return false;
        v = slice_sub(v, n + 1, v.len);
    }
    return s->column_count > 0;
}

static bool take_number(struct slice v, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(v.data, &end, 10);
    return v.len > 0 && *end == '\0' && errno == 0 && *out >= 0 && *out <= max;
}

static struct slice copy_of(struct slice s)
{
    return slice_make(mem_strndup(s.len ? s.data : "", s.len), s.len);
}

/* Rows must be in @r, too. */
static void spec_narrow(struct mr_spec *s, struct key_range r)
{
    struct key_range both =
        key_range_intersect((struct key_range){s->start, s->end}, r);
    struct slice start = copy_of(both.start);
    struct slice end = copy_of(both.end);
    free_slice(s->start);
    free_slice(s->end);
    s->start = start;
    s->end = end;
}

/* One of the options that say which rows. *@ok is false where it is repeated;
 * the result, when @name is none of them. */
static bool
take_rows(struct mr_spec *s, struct slice name, struct slice v, bool *ok)
{
    static const char *const names[] = {"prefix", "start", "end"};
    struct buf end = BUF_INIT;
    const struct key_range ranges[] = {
        key_range_of_prefix(v, &end), {v, SLICE_EMPTY}, {SLICE_EMPTY, v}};
    size_t i = 0;
    while (i < ARRAY_LEN(names) && !slice_eq_str(name, names[i]))
        i++;
    if (i < ARRAY_LEN(names)) {
        *ok = !(s->row_options & (1u << i));
        s->row_options |= 1u << i;
        spec_narrow(s, ranges[i]);
    }
    buf_close(&end);
    return i < ARRAY_LEN(names);
}

static int read_program(struct mr_spec *s,
                        const char *path,
                        struct world *w,
                        struct err *e)
{
    struct file *f;
    uint64_t size = 0;
    size_t got = 0;
    int code = file_open(w, path, FILE_READ, &f, e);
    if (code)
        return code;
    code = file_size(f, &size, e);
    if (code == 0 && size > PROGRAM_BYTES_MAX)
        code = err_set(e, ERR_TOOBIG, "%s: too long for a program", path);
    if (code == 0) {
        s->program = mem_alloc(size + 1);
        code = file_read_at(f, 0, s->program, size, &got, e);
        s->program[got] = '\0';
        s->program_len = got;
    }
    file_close(f);
    return code;
}

/* One option; false when it makes no sense. Takes @v over. */
static bool take_option(struct mr_spec *s,
                        struct slice name,
                        struct slice v,
                        struct world *w,
                        int *code,
                        struct err *err)
{
    int64_t n = 0;
    bool ok = true;
    if (take_rows(s, name, v, &ok)) {
        free_slice(v);
        return ok;
    } else if (slice_eq_str(name, "versions")) {
        ok = take_number(v, UINT32_MAX, &n) && n > 0;
        s->versions = (uint32_t)n;
    } else if (slice_eq_str(name, "since")) {
        ok = take_number(v, INT64_MAX, &s->since_us);
    } else if (slice_eq_str(name, "until")) {
        ok = take_number(v, INT64_MAX, &s->until_us);
    } else if (slice_eq_str(name, "live")) {
        s->live = slice_eq_str(v, "yes");
        ok = s->live || slice_eq_str(v, "no");
    } else if (slice_eq_str(name, "saw") && !s->program) {
        *code = read_program(s, v.data, w, err);
    } else if (slice_eq_str(name, "program") && !s->program) {
        s->program = mem_strndup(v.data, v.len);
        s->program_len = v.len;
    } else {
        ok = false;
    }
    free_slice(v);
    return ok;
}

static int take_options(struct mr_spec *s,
                        const char *text,
                        const char *p,
                        struct world *w,
                        struct err *err)
{
    int code = 0;
    while (*p != '\0' && code == 0) {
        size_t n = strcspn(p, "&");
        size_t eq = slice_find_byte(slice_make(p, n), '=');
        struct slice v;
        if (eq == n)
            return spec_bad(err, text, "a table option is name=value");
        v = slice_make(p + eq + 1, n - eq - 1);
        if (slice_eq_str(slice_make(p, eq), "columns")) {
            if (!take_columns(s, v))
                return spec_bad(err, text,
                                "columns are FAMILY:QUALIFIER or FAMILY:, with "
                                "commas between");
            p += n + (p[n] == '&');
            continue;
        }
        if (!spec_unescape(p + eq + 1, n - eq - 1, &v)) {
            free_slice(v);
            return spec_bad(err, text, "% must be followed by two hex digits");
        }
        if (!take_option(s, slice_make(p, eq), v, w, &code, err))
            return spec_bad(
                err, text,
                "unknown, repeated or malformed table option (there "
                "are columns, prefix, start, end, versions, since, "
                "until, live and saw)");
        p += n + (p[n] == '&');
    }
    return code;
}

/* The only one of a table that is written. */
static int take_output_option(struct mr_spec *s,
                              const char *text,
                              const char *p,
                              struct err *err)
{
    s->bulk = strcmp(p, "bulk=yes") == 0;
    if (s->bulk || strcmp(p, "bulk=no") == 0)
        return 0;
    return spec_bad(
        err, text,
        "the option of a table that is written is bulk=yes or bulk=no");
}

int mr_spec_parse(struct mr_spec *s,
                  const char *text,
                  bool output,
                  struct world *world,
                  struct err *err)
{
    const char *p = text;
    size_t n;
    *s = (struct mr_spec){.kind = MR_SPEC_FILE};
    if (output)
        p = take_name(s, p);
    p = take_kind(s, p);
    n = s->kind == MR_SPEC_TABLE ? strcspn(p, "?") : strlen(p);
    while (output && n > 1 && p[n - 1] == '/')
        n--;
    s->path = mem_strndup(p, n);
    if (n == 0)
        return spec_bad(err, text, "nothing behind the kind");
    if (output && s->kind == MR_SPEC_WARC)
        return spec_bad(err, text, "archives cannot be written");
    p += strcspn(p, "?");
    if (s->kind != MR_SPEC_TABLE || *p == '\0')
        return 0;
    if (output)
        return take_output_option(s, text, p + 1, err);
    return take_options(s, text, p + 1, world, err);
}

static void put_escaped(struct buf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (isalnum(c))
            buf_append_byte(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

int mr_spec_inline(const char *text,
                   struct world *world,
                   struct buf *out,
                   struct err *err)
{
    struct mr_spec s;
    const char *p = strchr(text, '?');
    int code = mr_spec_parse(&s, text, false, world, err);
    if (code == 0 && (s.kind != MR_SPEC_TABLE || !s.program)) {
        buf_append_str(out, text);
    } else if (code == 0) {
        buf_append(out, text, (size_t)(p - text));
        for (char sep = '?'; *p; sep = '&') {
            size_t n = strcspn(++p, "&");
            bool saw = strncmp(p, "saw=", 4) == 0;
            buf_append_byte(out, sep);
            if (saw) {
                buf_append_str(out, "program=");
                put_escaped(out, s.program, s.program_len);
            } else {
                buf_append(out, p, n);
            }
            p += n;
        }
    }
    mr_spec_close(&s);
    return code;
}

void mr_spec_close(struct mr_spec *s)
{
    for (size_t i = 0; i < s->column_count; i++)
        mem_free(s->columns[i]);
    mem_free(s->columns);
    mem_free(s->name);
    mem_free(s->path);
    mem_free(s->program);
    free_slice(s->start);
    free_slice(s->end);
    *s = (struct mr_spec){.kind = MR_SPEC_FILE};
}
