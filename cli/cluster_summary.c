/* The short form of `quarry cluster status`: a line for each node with its
 * health, then one each for tables, jobs and files.
 */
#include <stdio.h>

#include "base/core/text.h"
#include "cli/cluster_answers.h"
#include "cli/status_text.h"
#include "cli/table_printer.h"

static const struct sheet_column columns[] = {
    {"node", SHEET_TEXT},     {"address", SHEET_TEXT}, {"state", SHEET_TEXT},
    {"up", SHEET_AGE},        {"tablets", SHEET_TEXT}, {"chunks", SHEET_TEXT},
    {"attempts", SHEET_TEXT}, {"leads", SHEET_TEXT},   {"health", SHEET_TEXT}};

/* Figures from the roles of one node. */
struct glance {
    struct slice tablets;
    struct slice chunks;
    struct slice busy;
    struct slice slots;
    struct buf leads;
    struct buf health;
};

static void add_word(struct buf *out, const char *between, struct slice word)
{
    buf_append_str(out, out->len ? between : "");
    buf_append_slice(out, word);
}

static void
look_at_role(struct glance *g, struct slice role, struct slice pairs)
{
    struct slice health = status_value(pairs, "health");
    if (slice_eq_str(role, "tablet"))
        g->tablets = status_value(pairs, "tablets");
    if (slice_eq_str(role, "chunk"))
        g->chunks = status_value(pairs, "chunks");
    if (slice_eq_str(role, "worker")) {
        g->busy = status_value(pairs, "busy");
        g->slots = status_value(pairs, "slots");
    }
    if (status_leads(pairs))
        add_word(&g->leads, ", ", role);
    if (!slice_eq_str(health, "well")) {
        add_word(&g->health, "; ", role);
        add_word(&g->health, ": ", health);
    }
}

/* A clock that differs from the others'. */
static void look_at_clock(struct glance *g, int64_t ahead_us)
{
    struct buf text = BUF_INIT;
    if (ahead_us == 0)
        return;
    buf_append_str(&text, "clock: ");
    text_put_duration(&text, (uint64_t)(ahead_us < 0 ? -ahead_us : ahead_us));
    buf_append_str(&text, ahead_us < 0 ? " behind" : " ahead");
    add_word(&g->health, "; ", buf_slice(&text));
    buf_close(&text);
}

static void add_node(struct sheet *s, const struct inquiry *i, size_t n)
{
    const struct question *q = &i->questions[n];
    struct glance g = {.leads = BUF_INIT, .health = BUF_INIT};
    struct slice rest = answer_roles(q);
    struct slice role;
    struct slice pairs;
    while (status_next_role(&rest, &role, &pairs))
        look_at_role(&g, role, pairs);
    look_at_clock(&g, answer_clock(i, n));
    if (q->rc)
        buf_append_str(&g.health, q->err.text);
    else if (q->pid && g.health.len == 0)
        buf_append_str(&g.health, "well");
    sheet_add_str(s, q->node->name);
    sheet_add_str(s, q->node->address);
    sheet_add_str(s, question_state(q));
    sheet_add(s, answer_up(q));
    sheet_add(s, g.tablets);
    sheet_add(s, g.chunks);
    if (g.slots.len)
        sheet_addf(s, "%.*s of %.*s", SLICE_ARG(g.busy), SLICE_ARG(g.slots));
    else
        sheet_add_str(s, "");
    sheet_add(s, buf_slice(&g.leads));
    sheet_add(s, buf_slice(&g.health));
    buf_close(&g.leads);
    buf_close(&g.health);
}

/* --- together ------------------------------------------------------------ */

/* The pairs of the role that leads the others of its name; empty: none does. */
static struct slice leader_of(const struct inquiry *i, const char *wanted)
{
    struct slice role;
    struct slice pairs;
    for (size_t n = 0; n < i->count; n++) {
        struct slice rest = answer_roles(&i->questions[n]);
        while (status_next_role(&rest, &role, &pairs))
            if (slice_eq_str(role, wanted) && status_leads(pairs))
                return pairs;
    }
    return SLICE_EMPTY;
}

/* ", N what", unless there are none. */
static void put_if_any(struct slice pairs, const char *key, struct buf *out)
{
    struct slice count = status_value(pairs, key);
    if (count.len && !slice_eq_str(count, "0"))
        buf_printf(out, ", %.*s %s", SLICE_ARG(count), key);
}

/* 0 also where there is none. */
static uint64_t number_of(struct slice pairs, const char *key)
{
    uint64_t n = 0;
    return text_parse_u64(status_value(pairs, key), &n, NULL) == 0 ? n : 0;
}

static void put_count(uint64_t n, const char *one, struct buf *out)
{
    buf_printf(out, "%llu %s%s", (unsigned long long)n, one, n == 1 ? "" : "s");
}

/* Users' tables, and the one that says where their tablets are. */
static void put_tables(const struct inquiry *i, struct buf *out)
{
    struct slice master = leader_of(i, "master");
    uint64_t tables = number_of(master, "tables");
    uint64_t metadata = number_of(master, "metadata");
    if (master.len == 0) {
        buf_append_str(out, "tables: no master yet\n");
        return;
    }
    buf_append_str(out, tables ? "tables: " : "tables: none");
    if (tables) {
        buf_printf(out, "%llu in ", (unsigned long long)tables);
        put_count(number_of(master, "tablets") - metadata, "tablet", out);
    }
    buf_append_str(out, ", METADATA in ");
    put_count(metadata, "tablet", out);
    buf_append_str(out, ", on ");
    put_count(number_of(master, "servers"), "server", out);
    put_if_any(master, "unassigned", out);
    put_if_any(master, "moving", out);
    put_if_any(master, "recovering", out);
    buf_append_byte(out, '\n');
}

static void put_jobs(const struct inquiry *i, struct buf *out)
{
    struct slice master = leader_of(i, "jobs");
    if (master.len == 0)
        return;
    buf_printf(out, "jobs: %.*s running, %.*s waiting\n",
               SLICE_ARG(status_value(master, "running")),
               SLICE_ARG(status_value(master, "waiting")));
}

static void put_files(const struct inquiry *i, struct buf *out)
{
    const struct gfs_status *f = &i->files;
    uint64_t capacity;
    uint64_t space;
    size_t alive;
    if (i->files_err.code) {
        buf_printf(out, "files: %s\n", i->files_err.text);
        return;
    }
    alive = living_servers(f, &capacity, &space);
    buf_printf(out, "files: %llu, ", (unsigned long long)f->files);
    text_put_bytes(out, f->bytes);
    buf_printf(out, " in %llu chunks on %zu of %zu chunk servers, ",
               (unsigned long long)f->chunks, alive, f->server_count);
    text_put_bytes(out, space);
    buf_append_str(out, " free; ");
    put_files_health(f, out);
    buf_append_byte(out, '\n');
}

void print_nodes(const struct inquiry *i)
{
    struct sheet s;
    struct buf together = BUF_INIT;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t n = 0; n < i->count; n++)
        add_node(&s, i, n);
    sheet_print(&s, FORMAT_TEXT);
    sheet_close(&s);
    if (i->about_files) {
        put_tables(i, &together);
        put_jobs(i, &together);
        put_files(i, &together);
    }
    printf("%s", buf_cstr(&together));
    buf_close(&together);
}
