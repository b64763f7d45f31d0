/* Settings messages, field by field. Messages stay encoded: a field that is
 * kept is copied with its tag, and an update removes the old field and appends
 * the new one. Recursion is as deep as the tables of rules are, whatever is
 * sent.
 */
#include "bigtable/gateway/message_fields.h"

#include "bigtable/gateway/api_fields.h"

/* Longest part of a path that an error quotes. */
#define QUOTED_BYTES_MAX 100

/* --- looking up ---------------------------------------------------------- */

static const struct pb_message_field *
field_of_number(const struct message_type *t, uint64_t number)
{
    for (size_t i = 0; i < t->message->field_count; i++)
        if (t->message->fields[i].number == number)
            return &t->message->fields[i];
    return NULL;
}

static const struct message_rule *rule_of(const struct message_type *t,
                                          const struct pb_message_field *field)
{
    static const struct message_rule refused = {.rule = FIELD_REFUSED};
    return field->number < t->rule_count ? &t->rules[field->number] : &refused;
}

/* Is @path "display_name", or "displayName", which some clients send? */
static bool is_same_name(struct slice path, const char *name)
{
    size_t i = 0;
    for (const char *p = name; *p; p++, i++) {
        char c = *p;
        if (i >= path.len)
            return false;
        if (c == '_' && path.data[i] != '_') {
            p++;
            c = (char)(*p - 'a' + 'A');
        }
        if (path.data[i] != c)
            return false;
    }
    return i == path.len;
}

static const struct pb_message_field *
field_of_name(const struct message_type *t, struct slice name)
{
    for (size_t i = 0; i < t->message->field_count; i++)
        if (is_same_name(name, t->message->fields[i].name))
            return &t->message->fields[i];
    return NULL;
}

/* --- making -------------------------------------------------------------- */

static int field_refused(const struct message_type *t,
                         const struct pb_message_field *f,
                         struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "%s.%s: not implemented here (leave it unset)",
                   t->message->name, f->name);
}

static bool is_empty(const struct pb_field *f)
{
    return f->wire == PB_BYTES && f->bytes.len == 0;
}

/* May a client send @f as field @field of @t? */
static int check_field(const struct message_type *t,
                       const struct pb_message_field *field,
                       const struct pb_field *f,
                       struct err *err)
{
    if (!field)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: field %llu is not known here (leave it unset)",
                       t->message->name, (unsigned long long)f->number);
    if (field->wire != f->wire)
        return err_set(err, ERR_INVALID, "%s.%s: not of its type",
                       t->message->name, field->name);
    /* A message without fields says nothing, and some clients send one. */
    return rule_of(t, field)->rule == FIELD_REFUSED && !is_empty(f)
               ? field_refused(t, field, err)
               : 0;
}

static int settle_message(const struct message_type *t,
                          struct slice given,
                          bool is_lenient,
                          struct buf *out,
                          struct err *err);

/* Append field @f, whose bytes with its tag are @raw, as @rule says. */
static int settle_field(const struct message_rule *rule,
                        const struct pb_field *f,
                        struct slice raw,
                        struct buf *out,
                        struct err *err)
{
    struct buf inner = BUF_INIT;
    int rc;
    if (rule->rule == FIELD_OUTPUT ||
        (rule->rule == FIELD_REFUSED && is_empty(f)))
        return 0;
    if (!rule->type || rule->rule == FIELD_REFUSED) {
        buf_append_slice(out, raw);
        return 0;
    }
    rc = settle_message(rule->type, f->bytes, false, &inner, err);
    if (rc == 0)
        pb_put_bytes(out, (unsigned)f->number, buf_slice(&inner));
    buf_close(&inner);
    return rc;
}

/* Append the fields of @given that are kept. @is_lenient: refused fields are
 * kept and unknown ones dropped, since a mask decides later which count. */
static int settle_message(const struct message_type *t,
                          struct slice given,
                          bool is_lenient,
                          struct buf *out,
                          struct err *err)
{
    struct cursor c = cursor_make(given);
    const char *begin = c.p;
    struct pb_field f;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f)) {
        struct slice raw = slice_make(begin, (size_t)(c.p - begin));
        const struct pb_message_field *field = field_of_number(t, f.number);
        begin = c.p;
        if (is_lenient && !field)
            continue;
        if (!is_lenient || rule_of(t, field)->rule != FIELD_REFUSED)
            rc = check_field(t, field, &f, err);
        if (rc == 0)
            rc = settle_field(rule_of(t, field), &f, raw, out, err);
    }
    if (rc == 0 && c.bad)
        rc = err_set(err, ERR_INVALID, "%s: not a message of its kind",
                     t->message->name);
    return rc;
}

int message_settle(const struct message_type *t,
                   struct slice given,
                   struct buf *out,
                   struct err *err)
{
    return settle_message(t, given, false, out, err);
}

/* --- updating ------------------------------------------------------------ */

/* Remove from @b the fields that @field replaces: itself, and if @is_set those
 * that share a oneof with it. */
static void remove_field(const struct message_type *t,
                         const struct pb_message_field *field,
                         bool is_set,
                         struct buf *b)
{
    for (size_t i = 0; i < t->message->field_count; i++) {
        const struct pb_message_field *other = &t->message->fields[i];
        struct buf rest = BUF_INIT;
        if (other->number != field->number &&
            (!is_set || !field->oneof || other->oneof != field->oneof))
            continue;
        pb_copy_fields(&rest, buf_slice(b), other->number, false);
        buf_close(b);
        *b = rest;
    }
}

/* Replace @field of the message in @b by that of @update. */
static void replace_field(const struct message_type *t,
                          const struct pb_message_field *field,
                          struct slice update,
                          struct buf *b)
{
    remove_field(t, field, pb_has_field(update, field->number), b);
    pb_copy_fields(b, update, field->number, true);
}

static int
bad_path(const struct message_type *t, struct slice path, struct err *err)
{
    return err_set(err, ERR_INVALID, "%s: \"%.*s\" cannot be updated",
                   t->message->name,
                   SLICE_ARG(slice_sub(path, 0, QUOTED_BYTES_MAX)));
}

static int merge_path(const struct message_type *t,
                      struct slice path,
                      struct slice update,
                      struct buf *b,
                      struct err *err);

/* Take what @path names within @field from @update to @b. */
static int merge_inside(const struct message_type *t,
                        const struct pb_message_field *field,
                        struct slice path,
                        struct slice update,
                        struct buf *b,
                        struct err *err)
{
    struct buf inner = BUF_INIT;
    int rc;
    buf_append_slice(&inner, pb_find(buf_slice(b), field->number));
    rc = merge_path(rule_of(t, field)->type, path,
                    pb_find(update, field->number), &inner, err);
    if (rc == 0) {
        bool is_set = inner.len > 0 || pb_has_field(update, field->number);
        remove_field(t, field, is_set, b);
        if (is_set)
            pb_put_bytes(b, field->number, buf_slice(&inner));
    }
    buf_close(&inner);
    return rc;
}

/* Take what @path names from @update to @b. */
static int merge_path(const struct message_type *t,
                      struct slice path,
                      struct slice update,
                      struct buf *b,
                      struct err *err)
{
    size_t dot = slice_find_byte(path, '.');
    const struct pb_message_field *field =
        field_of_name(t, slice_sub(path, 0, dot));
    const struct message_rule *rule;
    if (!field)
        return bad_path(t, path, err);
    rule = rule_of(t, field);
    if (rule->rule == FIELD_FIXED || rule->rule == FIELD_OUTPUT)
        return bad_path(t, path, err);
    if (rule->rule == FIELD_REFUSED)
        return pb_has_field(update, field->number)
                   ? field_refused(t, field, err)
                   : 0;
    if (dot == path.len) {
        if (rule->kept_as)
            field = field_of_number(t, rule->kept_as);
        replace_field(t, field, update, b);
        return 0;
    }
    if (!rule->type)
        return bad_path(t, path, err);
    return merge_inside(t, field, slice_sub(path, dot + 1, path.len), update, b,
                        err);
}

static void
merge_all(const struct message_type *t, struct slice update, struct buf *b)
{
    for (size_t i = 0; i < t->message->field_count; i++) {
        const struct pb_message_field *field = &t->message->fields[i];
        if (rule_of(t, field)->rule == FIELD_KEPT &&
            pb_has_field(update, field->number))
            replace_field(t, field, update, b);
    }
}

int message_merge(const struct message_type *t,
                  struct slice old,
                  struct slice update,
                  struct slice mask,
                  struct buf *out,
                  struct err *err)
{
    struct cursor c = cursor_make(mask);
    struct buf settled = BUF_INIT;
    struct buf merged = BUF_INIT;
    struct pb_field f;
    bool any = pb_find(mask, PB_FieldMask_paths).len > 0;
    /* A field that no path names does not count, even a refused one. */
    int rc = settle_message(t, update, any, &settled, err);
    buf_append_slice(&merged, old);
    while (rc == 0 && pb_next(&c, &f)) {
        if (!pb_is_bytes(&f, PB_FieldMask_paths))
            continue;
        rc = merge_path(t, f.bytes, buf_slice(&settled), &merged, err);
    }
    if (rc == 0 && c.bad)
        rc = err_set(err, ERR_INVALID, "the update mask is not a FieldMask");
    if (rc == 0 && !any)
        merge_all(t, buf_slice(&settled), &merged);
    if (rc == 0)
        buf_append_slice(out, buf_slice(&merged));
    buf_close(&settled);
    buf_close(&merged);
    return rc;
}
