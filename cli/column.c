/* Parsing of "family:qualifier" and "family:qualifier=value". Escapes in
 * qualifier and value are decoded, so that printed columns can be given as
 * arguments.
 */
#include "cli/column.h"

#include <string.h>

#include "base/core/panic.h"
#include "cli/text_form.h"

int column_parse(struct slice text, struct column *out, struct err *err)
{
    size_t colon = slice_find_byte(text, ':');
    *out = (struct column){.qualifier = BUF_INIT};
    if (colon == 0 || text.len == 0)
        return err_set(err, ERR_INVALID,
                       "'%.*s' is no column: write FAMILY:QUALIFIER",
                       SLICE_ARG(text));
    out->family = mem_strndup(text.data, colon);
    out->whole_family = colon == text.len;
    argument_unescape(&out->qualifier, slice_sub(text, colon + 1, text.len));
    return ERR_OK;
}

int column_parse_one(struct slice text, struct column *out, struct err *err)
{
    int rc = column_parse(text, out, err);
    if (rc || !out->whole_family)
        return rc;
    column_close(out);
    return err_set(err, ERR_INVALID,
                   "'%.*s' has no qualifier: write FAMILY:QUALIFIER, or %.*s: "
                   "for the empty qualifier",
                   SLICE_ARG(text), SLICE_ARG(text));
}

void column_close(struct column *c)
{
    mem_free(c->family);
    buf_close(&c->qualifier);
    c->family = NULL;
}

int assignment_parse(const char *text, struct assignment *out, struct err *err)
{
    struct slice s = slice_str(text);
    size_t equals = slice_find_byte(s, '=');
    int rc;
    out->value = BUF_INIT;
    if (equals == s.len)
        return err_set(err, ERR_INVALID,
                       "'%s' has no value: write FAMILY:QUALIFIER=VALUE", text);
    rc = column_parse(slice_sub(s, 0, equals), &out->column, err);
    if (rc)
        return rc;
    if (out->column.whole_family) {
        column_close(&out->column);
        return err_set(err, ERR_INVALID,
                       "'%s' has no qualifier: write FAMILY:QUALIFIER=VALUE, "
                       "or %.*s:=VALUE for the empty qualifier",
                       text, (int)equals, text);
    }
    argument_unescape(&out->value, slice_sub(s, equals + 1, s.len));
    return ERR_OK;
}

void assignment_close(struct assignment *a)
{
    column_close(&a->column);
    buf_close(&a->value);
}
