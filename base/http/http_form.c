/* Forms, paths and cookies. All decoded text is in one allocation, no longer
 * than what was sent, because decoding only shortens. */
#include "base/http/http_form.h"

#include <string.h>

#include "base/core/hex.h"
#include "base/core/panic.h"
#include "base/core/text.h"

/* Decode @from to @to, which has room for its length and a NUL; returns the end
 * of what was written, behind the NUL, or NULL with an error. */
static char *
http_decode_into(char *to, struct slice from, bool plus, struct err *err)
{
    char *const begin = to;
    for (size_t i = 0; i < from.len; i++) {
        int high, low;
        if (from.data[i] != '%') {
            *to++ = plus && from.data[i] == '+' ? ' ' : from.data[i];
            continue;
        }
        high = i + 2 < from.len ? hex_value(from.data[i + 1]) : -1;
        low = high >= 0 ? hex_value(from.data[i + 2]) : -1;
        if (low < 0) {
            err_set(err, ERR_INVALID, "a percent sign without two digits");
            return NULL;
        }
        *to++ = (char)(high * 16 + low);
        i += 2;
    }
    *to = '\0';
    if (memchr(begin, '\0', (size_t)(to - begin)) ||
        !utf8_valid(slice_make(begin, (size_t)(to - begin)))) {
        err_set(err, ERR_INVALID, "text that is not UTF-8");
        return NULL;
    }
    return to + 1;
}

/* Cut what is before the first @c off @rest, and @c with it. */
static struct slice http_cut(struct slice *rest, char c)
{
    size_t at = slice_find_byte(*rest, c);
    struct slice part = slice_sub(*rest, 0, at);
    *rest = slice_sub(*rest, at + 1, rest->len);
    return part;
}

/* --- forms --------------------------------------------------------------- */

int http_form_parse(struct slice text, struct http_form *out, struct err *err)
{
    char *to;
    *out = (struct http_form){.count = 0};
    /* Each field has at most two bytes more than it was sent with. */
    to = out->text = mem_alloc(text.len + 2 * HTTP_FIELDS_MAX + 2);
    while (text.len) {
        struct slice value = http_cut(&text, '&');
        struct slice name = http_cut(&value, '=');
        struct http_field *f = &out->fields[out->count];
        if (name.len == 0 && value.len == 0)
            continue;
        if (out->count == HTTP_FIELDS_MAX)
            return err_set(err, ERR_TOOBIG, "more than %d fields",
                           HTTP_FIELDS_MAX);
        f->name = to;
        to = http_decode_into(to, name, true, err);
        f->value = to;
        to = to ? http_decode_into(to, value, true, err) : NULL;
        if (!to)
            return ERR_INVALID;
        out->count++;
    }
    return 0;
}

void http_form_close(struct http_form *f)
{
    mem_free(f->text);
    *f = (struct http_form){.count = 0};
}

const char *http_form_get(const struct http_form *f, const char *name)
{
    INVARIANT(f->count <= HTTP_FIELDS_MAX); /* INV-2 */
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->fields[i].name, name) == 0)
            return f->fields[i].value;
    return NULL;
}

/* --- paths --------------------------------------------------------------- */

int http_segments_parse(struct slice path,
                        struct http_segments *out,
                        struct err *err)
{
    char *to;
    *out = (struct http_segments){.count = 0};
    if (path.len == 0 || path.data[0] != '/')
        return err_set(err, ERR_INVALID, "a path that does not begin with /");
    to = out->text = mem_alloc(path.len + HTTP_SEGMENTS_MAX + 1);
    path = slice_sub(path, 1, path.len);
    for (bool more = path.len > 0; more;) {
        struct slice part;
        more = slice_find_byte(path, '/') < path.len;
        part = http_cut(&path, '/');
        if (out->count == HTTP_SEGMENTS_MAX)
            return err_set(err, ERR_TOOBIG, "a path of more than %d parts",
                           HTTP_SEGMENTS_MAX);
        out->at[out->count++] = to;
        to = http_decode_into(to, part, false, err);
        if (!to)
            return ERR_INVALID;
    }
    return 0;
}

void http_segments_close(struct http_segments *s)
{
    mem_free(s->text);
    *s = (struct http_segments){.count = 0};
}

/* --- cookies ------------------------------------------------------------- */

struct slice http_cookie(const char *cookies, const char *name)
{
    struct slice rest = slice_str(cookies ? cookies : "");
    PRE(*name);
    while (rest.len) {
        struct slice value = slice_trim(http_cut(&rest, ';'));
        struct slice key = http_cut(&value, '=');
        if (slice_eq_str(key, name))
            return value;
    }
    return SLICE_EMPTY;
}
