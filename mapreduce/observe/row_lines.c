/* Rows and changes as lines of JSON, for the command of an observer, and the
 * changes that it answers with. Bytes that are not UTF-8 go as base64, so
 * that every row has a line. */
#include "mapreduce/observe/row_lines.h"

#include <jansson.h>
#include <string.h>

#include "base/core/base64.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry_observer.h"

/* --- rows ---------------------------------------------------------------- */

static void put_name(struct buf *out, struct slice family, struct slice q)
{
    struct buf name = BUF_INIT;
    buf_append_slice(&name, family);
    buf_append_byte(&name, ':');
    if (utf8_valid(q))
        buf_append_slice(&name, q);
    else
        text_put_escaped(&name, q, 0);
    text_put_json(out, buf_slice(&name));
    buf_close(&name);
}

static void put_value(struct buf *out, struct slice value)
{
    if (utf8_valid(value)) {
        text_put_json(out, value);
        return;
    }
    buf_append_str(out, "{\"base64\": \"");
    base64_put(out, value);
    buf_append_str(out, "\"}");
}

static void put_key(struct buf *out, struct slice row)
{
    bool text = utf8_valid(row);
    buf_append_str(out, text ? "{\"row\": " : "{\"row_base64\": \"");
    if (text) {
        text_put_json(out, row);
    } else {
        base64_put(out, row);
        buf_append_byte(out, '"');
    }
}

static void
put_changed(const struct quarry_change *c, size_t *count, struct buf *out)
{
    for (size_t i = 0; i < c->entry_count; i++) {
        const struct quarry_change_entry *e = &c->entries[i];
        if (e->kind == QUARRY_CHANGE_DELETE_ROW)
            continue;
        buf_append_str(out, (*count)++ ? ", " : "");
        put_name(out, e->family, e->qualifier);
    }
}

void row_line_put(const struct quarry_observation *o, struct buf *out)
{
    size_t changed = 0;
    put_key(out, o->row);
    buf_append_str(out, ", \"changed\": [");
    for (size_t i = 0; i < o->change_count; i++)
        put_changed(&o->changes[i], &changed, out);
    buf_append_str(out, "], \"cells\": ");
    buf_append_str(out, o->cells ? "{" : "null");
    for (size_t i = 0; o->cells && i < o->cells->cell_count; i++) {
        const struct quarry_cell *c = &o->cells->cells[i];
        buf_append_str(out, i ? ", " : "");
        put_name(out, c->family, c->qualifier);
        buf_append_str(out, ": ");
        put_value(out, c->value);
    }
    buf_append_str(out, o->cells ? "}}\n" : "}\n");
}

/* --- answers ------------------------------------------------------------- */

/* A text, or {"base64": "…"}. @out is cleared. */
static bool take_bytes(const json_t *from, struct buf *out)
{
    const json_t *packed = json_object_get(from, "base64");
    buf_clear(out);
    if (json_is_string(from))
        buf_append(out, json_string_value(from), json_string_length(from));
    else if (json_is_string(packed))
        return base64_decode(
            slice_make(json_string_value(packed), json_string_length(packed)),
            out);
    return json_is_string(from);
}

static bool take_key(const json_t *change, struct buf *out)
{
    const json_t *packed = json_object_get(change, "row_base64");
    if (!json_is_string(packed))
        return take_bytes(json_object_get(change, "row"), out);
    buf_clear(out);
    return base64_decode(
        slice_make(json_string_value(packed), json_string_length(packed)), out);
}

/* "family:qualifier" or "family". @family: that, with a NUL. */
struct column_name {
    struct buf family;
    struct buf qualifier;
    bool whole; /* There is no colon. */
};

static void take_name(const char *text, struct column_name *n)
{
    struct slice s = slice_str(text);
    size_t colon = slice_find_byte(s, ':');
    buf_clear(&n->family);
    buf_clear(&n->qualifier);
    n->whole = colon == s.len;
    buf_append_slice(&n->family, slice_sub(s, 0, colon));
    if (n->whole)
        return;
    s = slice_sub(s, colon + 1, s.len);
    text_unescape_loose(&n->qualifier, s);
}

static void close_name(struct column_name *n)
{
    buf_close(&n->family);
    buf_close(&n->qualifier);
}

static int take_set(json_t *set, struct quarry_mutation *m, struct err *err)
{
    struct column_name n = {.family = BUF_INIT, .qualifier = BUF_INIT};
    struct buf value = BUF_INIT;
    const char *name;
    json_t *v;
    int rc = 0;
    if (set && !json_is_object(set))
        rc = err_set(err, ERR_INVALID, "\"set\" is an object of cells");
    json_object_foreach(set, name, v) {
        take_name(name, &n);
        if (rc == 0 && n.whole)
            rc = err_set(err, ERR_INVALID,
                         "\"%.80s\" is no column: \"family:qualifier\"", name);
        if (rc == 0 && !take_bytes(v, &value))
            rc = err_set(err, ERR_INVALID,
                         "the value of \"%.80s\" is no text, and no "
                         "{\"base64\": …}",
                         name);
        if (rc == 0)
            quarry_mutation_set(m, buf_cstr(&n.family), buf_slice(&n.qualifier),
                                QUARRY_NOW, buf_slice(&value));
    }
    close_name(&n);
    buf_close(&value);
    return rc;
}

static int
take_delete(const json_t *list, struct quarry_mutation *m, struct err *err)
{
    struct column_name n = {.family = BUF_INIT, .qualifier = BUF_INIT};
    int rc = 0;
    if (list && !json_is_array(list))
        rc = err_set(err, ERR_INVALID,
                     "\"delete\" is a list of columns and families");
    for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        take_name(name ? name : "", &n);
        if (n.family.len == 0)
            rc = err_set(err, ERR_INVALID,
                         "\"delete\" has what is neither \"family\" nor "
                         "\"family:qualifier\"");
        else if (n.whole)
            quarry_mutation_delete_family(m, buf_cstr(&n.family));
        else
            quarry_mutation_delete_cells(m, buf_cstr(&n.family),
                                         buf_slice(&n.qualifier), 0, 0);
    }
    close_name(&n);
    return rc;
}

static int take_change(struct quarry_observation *o,
                       const json_t *change,
                       const char *output,
                       struct err *err)
{
    const json_t *named = json_object_get(change, "table");
    const char *table = named ? json_string_value(named) : output;
    const char *reason = json_string_value(json_object_get(change, "error"));
    struct quarry_mutation *m = NULL;
    struct buf row = BUF_INIT;
    int rc = 0;
    if (reason)
        return err_set(err, ERR_ABORTED, "%.300s", reason);
    if (!json_is_object(change))
        rc = err_set(err, ERR_INVALID, "a change is an object");
    else if (!table)
        rc = err_set(err, ERR_INVALID,
                     "a change names no \"table\", and the observer has no "
                     "output");
    else if (!take_key(change, &row))
        rc = err_set(err, ERR_INVALID, "a change names no \"row\"");
    if (rc == 0) {
        m = quarry_mutation_new(buf_slice(&row));
        rc = take_set(json_object_get(change, "set"), m, err);
        if (rc == 0)
            rc = take_delete(json_object_get(change, "delete"), m, err);
        if (rc == 0 && quarry_mutation_count(m) > 0)
            rc = quarry_observer_write(o, table, m, err);
        quarry_mutation_free(m);
    }
    buf_close(&row);
    return rc;
}

int row_line_take(struct quarry_observation *o,
                  struct slice line,
                  const char *output,
                  struct err *err)
{
    json_error_t why;
    json_t *doc = json_loadb(line.data, line.len, JSON_DECODE_ANY, &why);
    int rc = 0;
    if (!doc)
        rc = err_set(err, ERR_INVALID, "the answer is no JSON: %s: \"%.*s\"",
                     why.text,
                     SLICE_ARG(slice_sub(line, 0, MIN_OF(line.len, 80UL))));
    else if (json_is_array(doc))
        for (size_t i = 0; i < json_array_size(doc) && rc == 0; i++)
            rc = take_change(o, json_array_get(doc, i), output, err);
    else if (!json_is_null(doc) && json_object_size(doc) == 0)
        rc = json_is_object(doc)
                 ? 0
                 : err_set(err, ERR_INVALID, "the answer is a list of changes");
    else if (!json_is_null(doc))
        rc = take_change(o, doc, output, err);
    json_decref(doc);
    return rc;
}
