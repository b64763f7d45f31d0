/* The namenode's state machine does to names what an obvious model does, and an
 * image brings the same state back. */
#include "tests/unit/gfs-lite/catalog_run.h"

/* --- The model: a list of paths
 * ------------------------------------------------ */

#define MODEL_MAX 4096

struct model_entry {
    char path[64];
    bool is_directory;
};

struct model {
    struct model_entry entries[MODEL_MAX];
    size_t count;
};

static struct model_entry *model_find(struct model *m, const char *path)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->entries[i].path, path) == 0)
            return &m->entries[i];
    return NULL;
}

static bool is_under(const char *path, const char *above)
{
    size_t n = strlen(above);
    return n == 0 || (strncmp(path, above, n) == 0 &&
                      (path[n] == '/' || path[n] == '\0'));
}

static void model_remove(struct model *m, const char *path)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++)
        if (!is_under(m->entries[i].path, path))
            m->entries[kept++] = m->entries[i];
    m->count = kept;
}

static void copy_part(const char *path, size_t len, char out[64])
{
    ck_assert_uint_lt(len, 64);
    memcpy(out, path, len);
    out[len] = '\0';
}

static void model_add(struct model *m, const char *path, bool is_directory)
{
    struct model_entry *e = &m->entries[m->count++];
    ck_assert_uint_lt(m->count, MODEL_MAX);
    copy_part(path, strlen(path), e->path);
    e->is_directory = is_directory;
}

static void parent_of(const char *path, char out[64])
{
    const char *slash = strrchr(path, '/');
    copy_part(path, slash ? (size_t)(slash - path) : 0, out);
}

static int model_mkdirs(struct model *m, const char *path)
{
    char part[64];
    for (size_t i = 1; i <= strlen(path); i++) {
        struct model_entry *e;
        if (path[i] != '/' && path[i] != '\0')
            continue;
        copy_part(path, i, part);
        e = model_find(m, part);
        if (e && !e->is_directory)
            return ERR_INVALID;
        if (!e)
            model_add(m, part, true);
    }
    return 0;
}

static int model_create(struct model *m, const char *path, bool exclusive)
{
    char up[64];
    struct model_entry *e;
    parent_of(path, up);
    if (model_mkdirs(m, up))
        return ERR_INVALID;
    e = model_find(m, path);
    if (e && exclusive)
        return ERR_EXISTS;
    if (e && e->is_directory)
        return ERR_INVALID;
    if (!e)
        model_add(m, path, false);
    return 0;
}

/* 0 if every part of @path but the last is a directory. */
static int model_parent(struct model *m, const char *path)
{
    char up[64];
    struct model_entry *e;
    parent_of(path, up);
    if (up[0] == '\0')
        return 0;
    e = model_find(m, up);
    if (!e)
        return ERR_NOTFOUND;
    return e->is_directory ? 0 : ERR_INVALID;
}

static bool model_has_children(struct model *m, const char *path)
{
    for (size_t i = 0; i < m->count; i++)
        if (is_under(m->entries[i].path, path) &&
            strcmp(m->entries[i].path, path) != 0)
            return true;
    return false;
}

static int model_rename(struct model *m, const char *from, const char *to)
{
    struct model_entry *n = model_find(m, from);
    struct model_entry *old = model_find(m, to);
    bool is_directory = n && n->is_directory;
    char up[64];
    int rc;
    if (!n)
        return ERR_NOTFOUND;
    rc = model_parent(m, to);
    if (rc)
        return rc;
    parent_of(to, up);
    if (up[0] && is_under(up, from))
        return ERR_INVALID;
    if (old == n)
        return 0;
    if (old && old->is_directory != is_directory)
        return ERR_INVALID;
    if (old && model_has_children(m, to))
        return ERR_EXISTS;
    model_remove(m, to);
    for (size_t i = 0; i < m->count; i++) {
        struct model_entry *e = &m->entries[i];
        char renamed[160];
        if (!is_under(e->path, from))
            continue;
        snprintf(renamed, sizeof(renamed), "%s%s", to, e->path + strlen(from));
        snprintf(e->path, sizeof(e->path), "%.63s", renamed);
    }
    return 0;
}

static int model_snapshot(struct model *m, const char *from, const char *to)
{
    size_t count = m->count;
    char up[64];
    if (!model_find(m, from))
        return ERR_NOTFOUND;
    if (model_find(m, to))
        return ERR_EXISTS;
    parent_of(to, up);
    if (model_mkdirs(m, up))
        return ERR_INVALID;
    if (is_under(to, from))
        return ERR_INVALID;
    for (size_t i = 0; i < count; i++) {
        char copy[160];
        if (!is_under(m->entries[i].path, from))
            continue;
        snprintf(copy, sizeof(copy), "%s%s", to,
                 m->entries[i].path + strlen(from));
        copy[63] = '\0';
        model_add(m, copy, m->entries[i].is_directory);
    }
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct model_entry *)a)->path,
                  ((const struct model_entry *)b)->path);
}

static void collect(const struct inode *n, struct model *out)
{
    for (struct inode *e = inode_entries_first(n->u.directory->entries); e;
         e = inode_entries_after(n->u.directory->entries, inode_name(e))) {
        struct buf path = BUF_INIT;
        inode_put_path(e, &path);
        model_add(out, buf_cstr(&path), e->is_directory);
        buf_close(&path);
        if (e->is_directory)
            collect(e, out);
    }
}

static void compare(struct catalog *m, struct model *want)
{
    static struct model got;
    got.count = 0;
    collect(m->names.root, &got);
    qsort(got.entries, got.count, sizeof(got.entries[0]), by_path);
    qsort(want->entries, want->count, sizeof(want->entries[0]), by_path);
    ck_assert_uint_eq(got.count, want->count);
    for (size_t i = 0; i < got.count; i++) {
        ck_assert_str_eq(got.entries[i].path, want->entries[i].path);
        ck_assert_int_eq(got.entries[i].is_directory,
                         want->entries[i].is_directory);
    }
    names_check(&m->names);
}

/* --- Tests
 * --------------------------------------------------------------------- */

/* Random operations end as the model says and leave the model's names. */
START_TEST(test_names_like_a_model)
{
    static struct model model;
    struct catalog m;
    struct rand_gen r;
    begin(&m);
    rand_init(&r, test_seed());
    for (int i = 0; i < 30000; i++) {
        struct gfs_command c = {.time_us = 1000 + (uint64_t)i};
        char path[64];
        char to[64];
        int want = 0;
        draw_path(&r, path);
        draw_path(&r, to);
        c.path = slice_str(path);
        switch (rand_below(&r, model.count > 1000 ? 6 : 8)) {
        case 0:
            c.op = GFS_OP_MKDIRS;
            want = model_mkdirs(&model, path);
            break;
        case 1:
        case 2:
            c.op = GFS_OP_CREATE;
            c.flags = rand_one_in(&r, 2) ? GFS_EXCLUSIVE : 0;
            want = model_create(&model, path, c.flags);
            break;
        case 3:
        case 4:
            c.op = GFS_OP_REMOVE;
            c.flags = rand_one_in(&r, 4) ? GFS_TREE : 0;
            if (!model_find(&model, path))
                want = ERR_NOTFOUND;
            else if (model_find(&model, path)->is_directory && !c.flags)
                want = ERR_INVALID;
            else
                model_remove(&model, path);
            break;
        case 5:
        case 6:
            c.op = GFS_OP_RENAME;
            c.to = slice_str(to);
            want = model_rename(&model, path, to);
            break;
        default:
            c.op = GFS_OP_SNAPSHOT;
            c.to = slice_str(to);
            want = strlen(to) + 8 < 20 ? model_snapshot(&model, path, to) : 0;
            break;
        }
        {
            struct gfs_result got = run(&m, c);
            ck_assert_msg(got.code == want, "%d: %s %s %s: %d %.*s, want %d", i,
                          gfs_op_name(c.op), path, to, got.code,
                          SLICE_ARG(got.text), want);
        }
        if (rand_one_in(&r, 10))
            run(&m, (struct gfs_command){.op = GFS_OP_REAP});
        if (i % 50 == 0)
            compare(&m, &model);
        if (i % 1000 == 0)
            check_image(&m);
    }
    compare(&m, &model);
    catalog_close(&m);
}

END_TEST

TEST_MAIN("namespace", test_names_like_a_model)
