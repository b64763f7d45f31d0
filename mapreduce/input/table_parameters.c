/* Parameters of table SPECs, separated by '&', their values %-escaped.
 *
 * prefix, start and end each narrow the row range to their intersection. The
 * program of saw= is read here, once, so that the SPEC means the same wherever
 * the job runs.
 */
#include "mapreduce/input/table_parameters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hex.h"
#include "base/core/key_range.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "mapreduce/job.h"

/* A Sawzall program is a page or two; its file is read whole. */
#define PROGRAM_BYTES_MAX ((uint64_t)4 << 20)

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
        if (i + 2 >= len || hex_value(p[i + 1]) < 0 || hex_value(p[i + 2]) < 0)
            return false;
        copy[n++] = (char)(hex_value(p[i + 1]) * 16 + hex_value(p[i + 2]));
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

/* Columns are separated before their escapes are decoded, so that a qualifier
 * may contain a comma. */
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

/* Intersect the row range with @r. */
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

/* Parse one of the options for row ranges: false if @name is none of them. *@ok
 * is false if it is repeated. */
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
    int rc = file_open(w, path, FILE_READ, &f, e);
    if (rc)
        return rc;
    rc = file_size(f, &size, e);
    if (rc == 0 && size > PROGRAM_BYTES_MAX)
        rc = err_set(e, ERR_TOOBIG, "%s: too long for a program", path);
    if (rc == 0) {
        s->program = mem_alloc(size + 1);
        rc = file_read_at(f, 0, s->program, size, &got, e);
        s->program[got] = '\0';
        s->program_len = got;
    }
    file_close(f);
    return rc;
}

/* A number of µs, or as text_parse_time() takes it. */
static bool take_time(struct slice v, int64_t *out)
{
    bool ok =
        take_number(v, INT64_MAX, out) || text_parse_time(v, out, NULL) == 0;
    return ok && *out > 0;
}

/* Parse one option, and free @v; false if it is unknown or malformed. */
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
    } else if (slice_eq_str(name, "as-of")) {
        ok = take_time(v, &s->as_of_us);
        s->live |= ok;
    } else if (slice_eq_str(name, "live")) {
        s->live = slice_eq_str(v, "yes") || s->as_of_us;
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

const char *table_parameters(struct mr_spec *s,
                             const char *p,
                             struct world *w,
                             int *code,
                             struct err *err)
{
    while (*p != '\0' && *code == 0) {
        size_t n = strcspn(p, "&");
        size_t eq = slice_find_byte(slice_make(p, n), '=');
        struct slice v;
        if (eq == n)
            return "a table option is name=value";
        v = slice_make(p + eq + 1, n - eq - 1);
        if (slice_eq_str(slice_make(p, eq), "columns")) {
            if (!take_columns(s, v))
                return "columns are FAMILY:QUALIFIER or FAMILY:, with "
                       "commas between";
            p += n + (p[n] == '&');
            continue;
        }
        if (!spec_unescape(p + eq + 1, n - eq - 1, &v)) {
            free_slice(v);
            return "% must be followed by two hex digits";
        }
        if (!take_option(s, slice_make(p, eq), v, w, code, err))
            return "unknown, repeated or malformed table option (there "
                   "are columns, prefix, start, end, versions, since, "
                   "until, as-of, live and saw)";
        p += n + (p[n] == '&');
    }
    return NULL;
}
