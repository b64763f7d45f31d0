/* quarry lock sessions, holders: who is connected to the lock service and who
 * has which lock. For the cluster's processes and administrators.
 */
#include "cli/lock_views.h"

#include <inttypes.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "chubby-lite/chubby.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"

/* --- sessions ------------------------------------------------------------ */

static void add_session(struct sheet *s, const struct chubby_session_view *v)
{
    struct buf locks = BUF_INIT;

    for (size_t i = 0; i < v->lock_count; i++)
        buf_printf(&locks, "%s%.*s", i ? " " : "", SLICE_ARG(v->locks[i]));
    if (v->held_count > v->lock_count)
        buf_printf(&locks, " and %" PRIu64 " more",
                   v->held_count - v->lock_count);
    sheet_addf(s, "%016" PRIx64, v->id);
    sheet_add(s, v->principal);
    sheet_add(s, v->address);
    sheet_addf(s, "%.3f", (double)v->lease_left_us / 1e6);
    sheet_add_u64(s, v->handle_count);
    sheet_add(s, buf_slice(&locks));
    buf_close(&locks);
}

int lock_views_sessions(struct remote *r, struct chubby *c, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"session", SHEET_TEXT},   {"principal", SHEET_TEXT},
        {"client", SHEET_TEXT},    {"lease_seconds", SHEET_NUMBER},
        {"handles", SHEET_NUMBER}, {"locks", SHEET_TEXT}};
    struct chubby_session_list l = {.more = true};
    uint64_t after = 0;
    struct sheet s;
    int rc = 0;

    sheet_init(&s, columns, ARRAY_LEN(columns));
    while (!rc && l.more) {
        struct arena a;
        arena_init(&a);
        rc = chubby_list_sessions(c, after, 0, &a, &l, err);
        for (size_t i = 0; i < l.count && !rc; i++)
            add_session(&s, &l.at[i]);
        if (!rc && l.count)
            after = l.at[l.count - 1].id;
        l.more &= l.count > 0;
        arena_close(&a);
    }
    if (!rc)
        sheet_print(&s, r->cli->format);
    sheet_close(&s);
    return rc;
}

/* --- holders ------------------------------------------------------------- */

static void add_holders(struct sheet *s, const struct chubby_entry_view *e)
{
    for (size_t i = 0; i < e->named_count; i++) {
        const struct chubby_holder_view *h = &e->holders[i];
        sheet_addf(s, "%.*s%s", SLICE_ARG(e->name),
                   e->stat.is_directory ? "/" : "");
        sheet_add_str(s, e->mode == CHUBBY_SHARED ? "shared" : "exclusive");
        sheet_addf(s, "%016" PRIx64, h->session);
        sheet_add(s, h->principal);
        sheet_add(s, h->address);
        sheet_add_u64(s, e->stat.lock_generation);
    }
}

int lock_views_holders(struct remote *r, struct chubby *c, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"name", SHEET_TEXT},    {"mode", SHEET_TEXT},
        {"session", SHEET_TEXT}, {"principal", SHEET_TEXT},
        {"client", SHEET_TEXT},  {"generation", SHEET_NUMBER}};
    const char *path = r->args->word_count ? r->args->words[0] : "/";
    struct chubby_entry_list l = {.more = true};
    struct buf after = BUF_INIT;
    struct sheet s;
    int rc = 0;

    sheet_init(&s, columns, ARRAY_LEN(columns));
    while (!rc && l.more) {
        struct arena a;
        arena_init(&a);
        rc = chubby_list_entries(c, path, buf_cstr(&after), 0, &a, &l, err);
        for (size_t i = 0; i < l.count && !rc; i++)
            add_holders(&s, &l.at[i]);
        if (!rc && l.count) {
            buf_clear(&after);
            buf_append_slice(&after, l.at[l.count - 1].name);
        }
        l.more &= l.count > 0;
        arena_close(&a);
    }
    if (!rc)
        sheet_print(&s, r->cli->format);
    sheet_close(&s);
    buf_close(&after);
    return rc;
}
