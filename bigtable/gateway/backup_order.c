/* The keys are parsed once; a listing compares by them as often as sorting
 * needs.
 */
#include "bigtable/gateway/backup_order.h"

#include "base/core/panic.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Take the next word off @text. Empty at its end. */
static struct slice take_word(struct slice *text)
{
    size_t begin = 0;
    size_t end;
    struct slice word;
    while (begin < text->len && is_space(text->data[begin]))
        begin++;
    end = begin;
    while (end < text->len && !is_space(text->data[end]))
        end++;
    word = slice_sub(*text, begin, end);
    *text = slice_sub(*text, end, text->len);
    return word;
}

static int
parse_key(struct slice text, struct backup_order *out, struct err *err)
{
    struct slice rest = text;
    struct slice name = take_word(&rest);
    struct slice direction = take_word(&rest);
    const struct backup_field *f = backup_field_find(name);
    bool descending = backup_text_equal(direction, SLICE_LIT("desc"));
    bool good = direction.len == 0 || descending ||
                backup_text_equal(direction, SLICE_LIT("asc"));
    if (!f)
        return err_set(err, ERR_INVALID,
                       "order_by: '%.*s' is no field (" BACKUP_FIELD_NAMES ")",
                       SLICE_ARG(slice_sub(name, 0, 40)));
    if (!good || take_word(&rest).len)
        return err_set(err, ERR_INVALID,
                       "order_by: 'asc', 'desc' or a comma expected after %s",
                       f->name);
    if (out->count == BACKUP_ORDER_KEYS_MAX)
        return err_set(err, ERR_INVALID, "order_by: more than %d fields",
                       BACKUP_ORDER_KEYS_MAX);
    out->keys[out->count].field = f;
    out->keys[out->count++].descending = descending;
    return 0;
}

static bool is_blank(struct slice text)
{
    return take_word(&text).len == 0;
}

int backup_order_parse(struct slice text,
                       struct backup_order *out,
                       struct err *err)
{
    size_t at = 0;
    int rc = 0;
    out->count = 0;
    if (is_blank(text))
        return parse_key(SLICE_LIT("start_time desc"), out, err);
    while (rc == 0 && at <= text.len) {
        struct slice rest = slice_sub(text, at, text.len);
        size_t len = slice_find_byte(rest, ',');
        rc = parse_key(slice_sub(rest, 0, len), out, err);
        at += len + 1;
    }
    POST(rc || out->count > 0);
    return rc;
}

int backup_order_compare(const struct backup_order *o,
                         struct slice a,
                         struct slice b)
{
    PRE(o->count > 0 && o->count <= BACKUP_ORDER_KEYS_MAX);
    for (size_t i = 0; i < o->count; i++) {
        int c = backup_field_compare(o->keys[i].field, a, b);
        if (c)
            return o->keys[i].descending ? -c : c;
    }
    return backup_field_compare(backup_field_find(SLICE_LIT("name")), a, b);
}
