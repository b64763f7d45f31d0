/* Names that are made, renamed, copied, removed and looked at by many. */
#include "gfs-lite/gfs.h"
#include "tests/cluster/storm/storm.h"

#define CALL_US (20 * SECOND_US)

struct name_call {
    struct storm *storm;
    struct fs *fs;
    uint64_t client;
    enum names_kind kind;
    char directory[16];
    char path[32];
    char to[32];
};

static int create(const struct name_call *c)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG,
                                 .exclusive = c->kind == NAMES_CREATE_NEW};
    struct fs_writer *w = NULL;
    int rc = fs_create(c->fs, c->path, &o, &w, NULL);
    if (rc == 0)
        fs_writer_close(w);
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

static int look(const struct name_call *c, struct names_answer *a)
{
    struct gfs_stat st;
    int rc;
    if (c->kind == NAMES_LIST) {
        char **names = NULL;
        rc = fs_list(c->fs, c->directory, &names, &a->list_count, NULL);
        a->list = (const char *const *)names;
        return rc;
    }
    rc = gfs_stat(c->fs, c->path, &st, NULL);
    if (rc == 0) {
        a->is_directory = st.is_directory;
        a->id = st.file;
    }
    return rc;
}

static int run_call(const struct name_call *c)
{
    struct storm *s = c->storm;
    bool has_to = c->kind == NAMES_RENAME || c->kind == NAMES_SNAPSHOT;
    bool looks = c->kind == NAMES_LIST || c->kind == NAMES_STAT;
    struct names_answer a = {.id = 0};
    size_t op = history_names_call(
        s->names, storm_now_us(s), c->client, c->kind,
        c->kind == NAMES_LIST ? c->directory : c->path, has_to ? c->to : NULL);
    int rc;
    storm_note_names(s, op);
    rc = looks ? look(c, &a) : change(c);
    history_names_return(s->names, op, storm_now_us(s), rc, looks ? &a : NULL);
    storm_note_names(s, op);
    s->call_count++;
    if (rc == 0 && c->kind == NAMES_LIST)
        fs_names_free((char **)(uintptr_t)a.list, a.list_count);
    return rc;
}

static void set_place(struct name_call *c, unsigned directory)
{
    snprintf(c->directory, sizeof(c->directory), "names/%u", directory % 10);
}

static void draw_call(struct name_call *c, struct rand_gen *r)
{
    static const enum names_kind kinds[] = {
        NAMES_CREATE,   NAMES_CREATE_NEW,  NAMES_CREATE_NEW, NAMES_MKDIR,
        NAMES_REMOVE,   NAMES_REMOVE_TREE, NAMES_RENAME,     NAMES_RENAME,
        NAMES_SNAPSHOT, NAMES_STAT,        NAMES_STAT,       NAMES_STAT,
        NAMES_LIST,     NAMES_LIST};

    c->kind = kinds[rand_below(r, ARRAY_LEN(kinds))];
    set_place(c, (unsigned)rand_below(r, STORM_DIRECTORIES));
    snprintf(c->path, sizeof(c->path), "%s/%c", c->directory,
             (char)('a' + rand_below(r, STORM_NAMES)));
    snprintf(c->to, sizeof(c->to), "%s/%c", c->directory,
             (char)('a' + rand_below(r, STORM_NAMES)));
}

void storm_work_names(struct storm_client *me)
{
    struct name_call c = {.storm = me->storm, .client = me->number};
    c.fs = storm_fs(me->storm, "namer", CALL_US);
    while (storm_goes_on()) {
        draw_call(&c, &me->rand);
        if (run_call(&c) == ERR_UNAVAILABLE)
            storm_sleep_us(me->storm, SECOND_US / 2);
        storm_sleep_us(me->storm, rand_below(&me->rand, SECOND_US / 5));
    }
    fs_close(c.fs);
}

/* Until the namenodes answer. */
static void insist(struct name_call *c, uint64_t until_us)
{
    int rc;
    while ((rc = run_call(c)) != 0 && rc != ERR_NOTFOUND) {
        STORM_CHECK(storm_now_us(c->storm) < until_us,
                    "%s: %s, long after the faults", c->directory,
                    err_name(rc));
        storm_sleep_us(c->storm, SECOND_US / 10);
    }
}

void storm_finish_names(struct storm *s, uint64_t until_us)
{
    struct name_call c = {.storm = s, .client = storm_number(s)};
    c.fs = storm_fs(s, "looker", CALL_US);
    for (unsigned d = 0; d < STORM_DIRECTORIES; d++) {
        set_place(&c, d);
        c.kind = NAMES_LIST;
        insist(&c, until_us);
        c.kind = NAMES_STAT;
        for (unsigned i = 0; i < STORM_NAMES; i++) {
            snprintf(c.path, sizeof(c.path), "%s/%c", c.directory,
                     (char)('a' + i));
            insist(&c, until_us);
        }
    }
    fs_close(c.fs);
}
