/* The clients' operations on names. */
#include "tests/sim/name_storm.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "gfs-lite/gfs.h"
#include "tests/lib/history_names.h"

enum {
    DIRECTORIES = 3,
    NAMES = 4
};

/* So long after the faults the namenodes must answer. */
#define SERVICE_US (60 * SECOND_US)

struct name_storm {
    struct storm *storm;
    struct sim_cell *cell;
    struct history_names *history;
};

/* A call of one client. */
struct name_call {
    struct name_storm *storm;
    struct fs *fs;
    uint64_t client;
    enum names_kind kind;
    char directory[16];
    char path[32];
    char to[32];
};

/* --- calls --------------------------------------------------------------- */

static int create(const struct name_call *c)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG,
                                 .exclusive = c->kind == NAMES_CREATE_NEW};
    struct fs_writer *w = NULL;
    int rc = fs_create(c->fs, c->path, &o, &w, NULL);
    /* Empty ones tell as much as others, and cost less. */
    if (rc == 0)
        fs_writer_close(w);
    return rc;
}

static int get_list(const struct name_call *c, size_t op)
{
    char **names = NULL;
    struct names_answer a = {.list_count = 0};
    int rc = fs_list(c->fs, c->directory, &names, &a.list_count, NULL);
    a.list = (const char *const *)names;
    history_names_return(c->storm->history, op, storm_now_us(), rc, &a);
    if (rc == 0)
        fs_names_free(names, a.list_count);
    return rc;
}

static int get_stat(const struct name_call *c, size_t op)
{
    struct gfs_stat st;
    struct names_answer a = {.id = 0};
    int rc = gfs_stat(c->fs, c->path, &st, NULL);
    if (rc == 0)
        a = (struct names_answer){.is_directory = st.is_directory,
                                  .id = st.file};
    history_names_return(c->storm->history, op, storm_now_us(), rc, &a);
    return rc;
}

static int change(const struct name_call *c)
{
    switch (c->kind) {
    case NAMES_CREATE:
    case NAMES_CREATE_NEW: return create(c);
    case NAMES_MKDIR: return fs_mkdirs(c->fs, c->path, NULL);
    case NAMES_REMOVE: return fs_remove(c->fs, c->path, NULL);
    case NAMES_REMOVE_TREE: return gfs_discard(c->fs, c->path, NULL);
    case NAMES_RENAME: return fs_rename(c->fs, c->path, c->to, NULL);
    case NAMES_SNAPSHOT: return gfs_snapshot(c->fs, c->path, c->to, NULL);
    case NAMES_STAT:
    case NAMES_LIST:
    case NAMES_KIND_COUNT: break;
    }
    return ERR_INVALID;
}

static int run_call(const struct name_call *c)
{
    bool has_to = c->kind == NAMES_RENAME || c->kind == NAMES_SNAPSHOT;
    size_t op = history_names_call(
        c->storm->history, storm_now_us(), c->client, c->kind,
        c->kind == NAMES_LIST ? c->directory : c->path, has_to ? c->to : NULL);
    int rc;
    c->storm->storm->call_count++;
    if (c->kind == NAMES_LIST)
        return get_list(c, op);
    if (c->kind == NAMES_STAT)
        return get_stat(c, op);
    rc = change(c);
    history_names_return(c->storm->history, op, storm_now_us(), rc, NULL);
    return rc;
}

/* --- clients ------------------------------------------------------------- */

static enum names_kind draw_kind(struct rand_gen *r)
{
    static const enum names_kind kinds[] = {
        NAMES_CREATE,   NAMES_CREATE_NEW,  NAMES_CREATE_NEW, NAMES_MKDIR,
        NAMES_REMOVE,   NAMES_REMOVE_TREE, NAMES_RENAME,     NAMES_RENAME,
        NAMES_SNAPSHOT, NAMES_STAT,        NAMES_STAT,       NAMES_STAT,
        NAMES_LIST,     NAMES_LIST};

    return kinds[rand_below(r, ARRAY_LEN(kinds))];
}

static void draw_call(struct name_call *c, struct rand_gen *r)
{
    unsigned d = (unsigned)rand_below(r, DIRECTORIES);
    c->kind = draw_kind(r);
    snprintf(c->directory, sizeof(c->directory), "names/%u", d % 10);
    snprintf(c->path, sizeof(c->path), "%s/%c", c->directory,
             (char)('a' + rand_below(r, NAMES)));
    snprintf(c->to, sizeof(c->to), "%s/%c", c->directory,
             (char)('a' + rand_below(r, NAMES)));
}

static void work(struct storm_client *me)
{
    struct name_storm *n = me->ctx;
    struct name_call c = {.storm = n, .client = me->number};
    c.fs = sim_cell_fs(n->cell, me->world, "namer");
    while (storm_goes_on(me)) {
        draw_call(&c, &me->rand);
        if (run_call(&c) == ERR_UNAVAILABLE)
            storm_sleep_us(SECOND_US / 2);
        storm_sleep_us(rand_below(&me->rand, SECOND_US / 5));
    }
    fs_close(c.fs);
}

/* --- the whole ----------------------------------------------------------- */

struct name_storm *
name_storm_new(struct storm *s, struct sim_cell *cell, unsigned clients)
{
    struct name_storm *n = mem_zalloc(1, sizeof(*n));
    n->storm = s;
    n->cell = cell;
    n->history = history_names_new();
    for (unsigned i = 0; i < clients; i++) {
        char name[16];
        snprintf(name, sizeof(name), "namer%u", i % 100);
        storm_add_client(s, name, work, n);
    }
    return n;
}

/* Until the namenodes answer. */
static void insist(struct name_call *c, uint64_t until)
{
    int rc;
    while ((rc = run_call(c)) != 0 && rc != ERR_NOTFOUND) {
        STORM_CHECK(storm_now_us() < until, "%s: %s, long after the faults",
                    c->directory, err_name(rc));
        storm_sleep_us(SECOND_US / 10);
    }
}

void name_storm_finish(struct name_storm *n)
{
    struct world *w = sim_director(n->cell->sim);
    struct name_call c = {.storm = n, .client = 1000};
    uint64_t until = storm_now_us() + SERVICE_US;
    c.fs = sim_cell_fs(n->cell, w, "looker");
    for (unsigned d = 0; d < DIRECTORIES; d++) {
        snprintf(c.directory, sizeof(c.directory), "names/%u", d % 10);
        c.kind = NAMES_LIST;
        insist(&c, until);
        c.kind = NAMES_STAT;
        for (unsigned i = 0; i < NAMES; i++) {
            snprintf(c.path, sizeof(c.path), "%s/%c", c.directory,
                     (char)('a' + i));
            insist(&c, until);
        }
    }
    fs_close(c.fs);
}

void name_storm_check(const struct name_storm *n)
{
    struct buf why = BUF_INIT;
    enum history_verdict v = history_names_check(n->history, 0, &why);
    STORM_CHECK(v != HISTORY_WRONG, "%sthe answers about names have no order",
                buf_cstr(&why));
    STORM_CHECK(v != HISTORY_TOO_HARD,
                "the history of names is too hard to judge");
    buf_close(&why);
}

void name_storm_free(struct name_storm *n)
{
    history_names_free(n->history);
    mem_free(n);
}
