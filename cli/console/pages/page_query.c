/* The query of a page's address, read and changed. A table's order and its
 * page are in the address, so that a link shows what was seen. */
#include "cli/console/pages/page_query.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/http/http_form.h"

/* The first field @name of the view's query. *@out is to be closed. NULL: there
 * is none. */
static const char *
page_query_find(const struct html *h, const char *name, struct http_form *out)
{
    struct err err = ERR_INIT;
    const char *query = h->view->query ? h->view->query : "";
    memset(out, 0, sizeof(*out));
    if (http_form_parse(slice_str(query), out, &err))
        return NULL;
    return http_form_get(out, name);
}

bool page_query_get(const struct html *h,
                    const char *name,
                    char *out,
                    size_t size)
{
    struct http_form form;
    const char *value = page_query_find(h, name, &form);
    bool fits = value && strlen(value) < size;
    PRE(size > 0);
    out[0] = 0;
    if (fits)
        memcpy(out, value, strlen(value) + 1);
    http_form_close(&form);
    return fits;
}

void page_query_link(struct html *h, const char *name, const char *value)
{
    struct buf link = BUF_INIT;
    struct http_form form;
    const char *separator = "?";
    (void)page_query_find(h, name, &form);
    for (size_t i = 0; i < form.count; i++) {
        if (strcmp(form.fields[i].name, name) == 0)
            continue;
        buf_append_str(&link, separator);
        html_url_put(&link, "{}={}", form.fields[i].name, form.fields[i].value);
        separator = "&";
    }
    if (value) {
        buf_append_str(&link, separator);
        html_url_put(&link, "{}={}", name, value);
    }
    if (link.len == 0)
        buf_append_str(&link, "?");
    html_attr_slice(h, "href", buf_slice(&link));
    buf_close(&link);
    http_form_close(&form);
}

void page_query_next(struct html *h,
                     const json_t *doc,
                     const char *field,
                     const char *name,
                     const char *text)
{
    const json_t *next = json_object_get(doc, field);
    struct buf value = BUF_INIT;
    if (json_is_integer(next))
        buf_printf(&value, "%lld", (long long)json_integer_value(next));
    else if (json_is_string(next))
        buf_append(&value, json_string_value(next), json_string_length(next));
    else
        return;
    html_lit(h, "<p><a class=\"btn\"");
    page_query_link(h, name, buf_cstr(&value));
    html_lit(h, ">");
    html_str(h, text);
    html_lit(h, "</a></p>");
    buf_close(&value);
}
