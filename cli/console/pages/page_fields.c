/* Fields of documents. Any may be missing, because a node of another version
 * or one that does not answer has made a part of it; so each getter has an
 * answer for that. */
#include "cli/console/pages/page_fields.h"

#include <math.h>
#include <string.h>

#include "base/core/panic.h"

/* Names of fields are short; a longer one is in no document. */
#define PAGE_FIELD_NAME_MAX 64

static const json_t *page_field_one(const json_t *object, struct slice name)
{
    char text[PAGE_FIELD_NAME_MAX];
    if (!json_is_object(object) || name.len >= sizeof(text))
        return NULL;
    memcpy(text, name.data, name.len);
    text[name.len] = 0;
    return json_object_get(object, text);
}

const json_t *page_field(const json_t *object, const char *path)
{
    struct slice rest = slice_str(path);
    PRE(rest.len > 0);
    const json_t *at = object;
    for (;;) {
        size_t point = slice_find_byte(rest, '.');
        if (point >= rest.len)
            break;
        at = page_field_one(at, slice_sub(rest, 0, point));
        rest = slice_sub(rest, point + 1, rest.len);
    }
    at = page_field_one(at, rest);
    return json_is_null(at) ? NULL : at;
}

const char *page_string(const json_t *object, const char *path)
{
    return json_string_value(page_field(object, path));
}

const char *page_string_or_empty(const json_t *object, const char *path)
{
    const char *s = page_string(object, path);
    return s ? s : "";
}

bool page_number(const json_t *object, const char *path, double *out)
{
    const json_t *v = page_field(object, path);
    *out = json_is_number(v) ? json_number_value(v) : (double)NAN;
    return json_is_number(v);
}

double page_number_or(const json_t *object, const char *path, double otherwise)
{
    double v;
    return page_number(object, path, &v) ? v : otherwise;
}

bool page_is_true(const json_t *object, const char *path)
{
    return json_is_true(page_field(object, path));
}

const json_t *page_list(const json_t *object, const char *path)
{
    const json_t *v = page_field(object, path);
    return json_is_array(v) ? v : NULL;
}

size_t page_list_size(const json_t *object, const char *path)
{
    return json_array_size(page_list(object, path));
}

bool page_field_is(const json_t *object, const char *path, const char *value)
{
    return strcmp(page_string_or_empty(object, path), value) == 0;
}
