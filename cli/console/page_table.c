/* The table of pages, from console_pages.def, and matching of paths. One
 * table serves the router, the links between pages and the list of paths that
 * the tests walk. */
#include "cli/console/page_table.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/http/http_form.h"
#include "cli/console/page_renderers.h"

const struct console_page console_pages[] = {
#define PAGE(path, subject, title, menu, renderer)                             \
    {path, subject, title, menu, render_##renderer},
#include "cli/console/console_pages.def"
#undef PAGE
    {NULL, NULL, NULL, NULL, NULL},
};

/* Cut the part before the first slash off @rest, and the slash. */
static struct slice cut_part(struct slice *rest)
{
    size_t at = slice_find_byte(*rest, '/');
    struct slice part = slice_sub(*rest, 0, at);
    *rest = slice_sub(*rest, at + 1, rest->len);
    return part;
}

static void
add_path_param(struct page_match *m, struct slice name, const char *value)
{
    char *to = m->names[m->count];
    PRE(m->count < PAGE_PATH_PARAMS_MAX);
    PRE(name.len < sizeof(m->names[0]));
    memcpy(to, name.data, name.len);
    to[name.len] = '\0';
    m->params[m->count++] = (struct monitor_param){to, value};
}

static bool match_path(const char *pattern,
                       const struct http_segments *path,
                       struct page_match *m)
{
    struct slice rest = slice_str(pattern + 1);
    size_t i = 0;
    for (; rest.len && i < path->count; i++) {
        struct slice part = cut_part(&rest);
        if (part.data[0] == '{' && *path->at[i])
            add_path_param(m, slice_sub(part, 1, part.len - 1), path->at[i]);
        else if (!slice_eq_str(part, path->at[i]))
            return false;
    }
    return rest.len == 0 && i == path->count;
}

bool page_find(const struct http_segments *path, struct page_match *out)
{
    for (const struct console_page *p = console_pages; p->path; p++) {
        out->page = p;
        out->count = 0;
        if (match_path(p->path, path, out))
            return true;
    }
    return false;
}

void page_add_query(struct page_match *m,
                    const struct http_form *query,
                    bool all)
{
    for (size_t i = 0; i < query->count && m->count < PAGE_PARAMS_MAX; i++) {
        const struct http_field *f = &query->fields[i];
        if (all || monitor_subject_takes(m->page->subject, f->name))
            m->params[m->count++] = (struct monitor_param){f->name, f->value};
    }
}

const struct console_page *page_of_subject(const char *subject)
{
    for (const struct console_page *p = console_pages; p->path; p++)
        if (strcmp(p->subject, subject) == 0)
            return p;
    return NULL;
}

/* --- titles -------------------------------------------------------------- */

static const char *find_param(const struct page_match *m, struct slice name)
{
    for (size_t i = 0; i < m->count; i++)
        if (slice_eq_str(name, m->params[i].name))
            return m->params[i].value;
    return "";
}

void page_title(const struct page_match *m, struct buf *out)
{
    for (const char *p = m->page->title; *p; p++) {
        const char *end = *p == '{' ? strchr(p, '}') : NULL;
        if (!end) {
            buf_append_byte(out, *p);
            continue;
        }
        buf_append_str(out,
                       find_param(m, slice_make(p + 1, (size_t)(end - p) - 1)));
        p = end;
    }
}
