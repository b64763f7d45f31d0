/* Settings of a view's follower: its program, and the SQL that the program
 * was made of, as the bytes of the follower's record. */
#include "bigtable/view/view_settings.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/core/panic.h"

int view_settings_put(const struct view_settings *s,
                      struct buf *out,
                      struct err *err)
{
    json_t *root = json_pack(
        "{s: s%, s: s%, s: s%, s: s%}", "program", buf_slice(&s->program).data,
        s->program.len, "sql", buf_slice(&s->sql).data, s->sql.len, "items",
        buf_slice(&s->items).data, s->items.len, "resource",
        buf_slice(&s->resource).data, s->resource.len);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    int rc = 0;

    if (text)
        buf_append_str(out, text);
    else
        rc = err_set(err, ERR_INVALID, "the program is not UTF-8");
    free(text);
    json_decref(root);
    return rc;
}

static bool take_text(const json_t *root, const char *name, struct buf *out)
{
    const json_t *text = json_object_get(root, name);
    if (!json_is_string(text))
        return false;
    buf_append_slice(
        out, slice_make(json_string_value(text), json_string_length(text)));
    return true;
}

int view_settings_parse(struct slice text,
                        struct view_settings *out,
                        struct err *err)
{
    json_t *root = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
    bool ok;

    *out = (struct view_settings){.program = BUF_INIT};
    ok = root && take_text(root, "program", &out->program) &&
         take_text(root, "sql", &out->sql);
    if (ok) { /* Those of older views have none of these. */
        (void)take_text(root, "items", &out->items);
        (void)take_text(root, "resource", &out->resource);
    }
    json_decref(root);
    if (ok)
        return 0;
    view_settings_close(out);
    return err_set(err, ERR_CORRUPT, "the settings of the view are damaged");
}

void view_settings_close(struct view_settings *s)
{
    buf_close(&s->program);
    buf_close(&s->sql);
    buf_close(&s->items);
    buf_close(&s->resource);
}
