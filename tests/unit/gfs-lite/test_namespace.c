/* The namenode's state machine does to names what an obvious model does, and an
 * image brings the same state back; also while a snapshot is made step by step,
 * of which nothing is seen before all of it is. */
#include "tests/unit/gfs-lite/catalog_run.h"

/* --- The model: a list of paths ------------------------------------------ */

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

/* May @from be copied to @to? The directories above @to are made. */
static int model_place(struct model *m, const char *from, const char *to)
{
    char up[64];
    if (!model_find(m, from))
        return ERR_NOTFOUND;
    if (model_find(m, to))
        return ERR_EXISTS;
    parent_of(to, up);
    if (model_mkdirs(m, up))
        return ERR_INVALID;
    return is_under(to, from) ? ERR_INVALID : 0;
}

static int model_snapshot(struct model *m, const char *from, const char *to)
{
    int rc = model_place(m, from, to);
    size_t count = m->count;
    if (rc)
        return rc;
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

/* --- A snapshot that is being made --------------------------------------- */

/* The source as it was is what it is: it keeps still. */
struct pending {
    struct gfs_command command; /* Its session and number; 0: none is. */
    char from[64];
    char to[64];
    char source[64];  /* The name of what is copied by now. */
    struct model was; /* Names below the source, by its first name. */
};

static void
begin_pending(struct pending *p, struct model *m, const struct gfs_command *c)
{
    p->command = *c;
    p->command.session = session;
    p->command.sequence = sequence;
    unanswered = sequence;
    copy_part(c->path.data, c->path.len, p->from);
    copy_part(c->path.data, c->path.len, p->source);
    copy_part(c->to.data, c->to.len, p->to);
    p->command.path = slice_str(p->from);
    p->command.to = slice_str(p->to);
    p->was.count = 0;
    qsort(m->entries, m->count, sizeof(m->entries[0]), by_path);
    for (size_t i = 0; i < m->count; i++)
        if (is_under(m->entries[i].path, p->source))
            model_add(&p->was, m->entries[i].path + strlen(p->source),
                      m->entries[i].is_directory);
}

/* The source was perhaps moved. */
static void follow(struct pending *p, const char *from, const char *to)
{
    char moved[160];
    if (!is_under(p->source, from))
        return;
    snprintf(moved, sizeof(moved), "%s%s", to, p->source + strlen(from));
    copy_part(moved, strlen(moved), p->source);
}

static void check_still(const struct pending *p, struct model *m)
{
    size_t at = 0;
    qsort(m->entries, m->count, sizeof(m->entries[0]), by_path);
    for (size_t i = 0; i < m->count; i++) {
        if (!is_under(m->entries[i].path, p->source))
            continue;
        ck_assert_uint_lt(at, p->was.count);
        ck_assert_str_eq(m->entries[i].path + strlen(p->source),
                         p->was.entries[at++].path);
    }
    ck_assert_uint_eq(at, p->was.count);
}

/* May @c be told to wait for the snapshot? */
static bool may_wait(const struct pending *p,
                     const struct gfs_command *c,
                     const char *path,
                     const char *to)
{
    char up[64];
    parent_of(to, up);
    if (c->op == GFS_OP_SNAPSHOT)
        return true;
    if (c->op == GFS_OP_RENAME)
        return (is_under(path, p->source) && strcmp(path, p->source) != 0) ||
               is_under(up, p->source);
    return is_under(path, p->source) ||
           (c->op == GFS_OP_REMOVE && is_under(p->source, path));
}

/* One more step; the last one ends as the model says. */
static void step_pending(struct catalog *m,
                         struct pending *p,
                         struct model *model,
                         struct rand_gen *r)
{
    struct gfs_result got;
    check_still(p, model);
    run(m, (struct gfs_command){.op = GFS_OP_COPY,
                                .length = 1 + rand_below(r, 3)});
    if (rand_one_in(r, 8))
        check_image(m);
    got = run(m, p->command); /* Again, for its answer. */
    ck_assert_int_eq(got.code == 0 && got.file, names_is_copying(&m->names));
    if (names_is_copying(&m->names))
        return;
    ck_assert_int_eq(got.code, model_snapshot(model, p->source, p->to));
    p->command.sequence = 0;
    unanswered = 0;
    compare(m, model);
}

/* --- Tests --------------------------------------------------------------- */

static struct model model;
static struct pending pending;

static int model_remove_command(const struct gfs_command *c, const char *path)
{
    const struct model_entry *e = model_find(&model, path);
    if (!e)
        return ERR_NOTFOUND;
    if (e->is_directory && !c->flags)
        return ERR_INVALID;
    model_remove(&model, path);
    return 0;
}

static int
model_execute(const struct gfs_command *c, const char *path, const char *to)
{
    int rc;
    if (c->op == GFS_OP_MKDIRS)
        return model_mkdirs(&model, path);
    if (c->op == GFS_OP_CREATE)
        return model_create(&model, path, c->flags);
    if (c->op == GFS_OP_REMOVE)
        return model_remove_command(c, path);
    if (c->op == GFS_OP_SNAPSHOT)
        return model_snapshot(&model, path, to);
    rc = model_rename(&model, path, to);
    if (rc == 0 && pending.command.sequence)
        follow(&pending, path, to);
    return rc;
}

static void draw_command(struct gfs_command *c, struct rand_gen *r)
{
    static const enum gfs_op ops[] = {
        GFS_OP_MKDIRS, GFS_OP_CREATE, GFS_OP_CREATE, GFS_OP_REMOVE,
        GFS_OP_REMOVE, GFS_OP_RENAME, GFS_OP_RENAME, GFS_OP_SNAPSHOT};

    c->op = ops[rand_below(r, model.count > 1000 ? 6 : ARRAY_LEN(ops))];
    if (c->op == GFS_OP_CREATE && rand_one_in(r, 2))
        c->flags = GFS_EXCLUSIVE;
    if (c->op == GFS_OP_REMOVE && rand_one_in(r, 4))
        c->flags = GFS_TREE;
    if (c->op == GFS_OP_SNAPSHOT && !rand_one_in(r, 3))
        c->length = 1 + rand_below(r, 8);
}

static void run_one(struct catalog *m, struct rand_gen *r, int i)
{
    struct gfs_command c = {.time_us = 1000 + (uint64_t)i};
    char path[64];
    char to[64];
    struct gfs_result got;
    int want;
    draw_path(r, path);
    draw_path(r, to);
    c.path = slice_str(path);
    c.to = slice_str(to);
    draw_command(&c, r);
    got = run(m, c);
    if (got.code == ERR_UNAVAILABLE) {
        ck_assert(pending.command.sequence);
        ck_assert_msg(may_wait(&pending, &c, path, to), "%d: %s %s %s: %.*s", i,
                      gfs_op_name(c.op), path, to, SLICE_ARG(got.text));
        return;
    }
    if (got.code == 0 && c.op == GFS_OP_SNAPSHOT && got.file) {
        ck_assert(!pending.command.sequence);
        ck_assert_int_eq(model_place(&model, path, to), 0);
        begin_pending(&pending, &model, &c);
        return;
    }
    want = model_execute(&c, path, to);
    ck_assert_msg(got.code == want, "%d: %s %s %s: %d %.*s, want %d", i,
                  gfs_op_name(c.op), path, to, got.code, SLICE_ARG(got.text),
                  want);
}

/* Random operations end as the model says and leave the model's names. While a
 * snapshot is made, those wait that would change what it copies. */
START_TEST(test_names_like_a_model)
{
    struct catalog m;
    struct rand_gen r;
    unsigned pended = 0;
    begin(&m);
    rand_init(&r, test_seed());
    for (int i = 0; i < 30000; i++) {
        bool was = pending.command.sequence;
        run_one(&m, &r, i);
        pended += !was && pending.command.sequence;
        if (pending.command.sequence && rand_one_in(&r, 4))
            step_pending(&m, &pending, &model, &r);
        if (rand_one_in(&r, 10))
            run(&m, (struct gfs_command){.op = GFS_OP_REAP});
        if (i % 50 == 0)
            compare(&m, &model);
        if (i % 1000 == 0)
            check_image(&m);
    }
    ck_assert_uint_gt(pended, 50);
    while (pending.command.sequence)
        step_pending(&m, &pending, &model, &r);
    compare(&m, &model);
    catalog_close(&m);
}

END_TEST

TEST_MAIN("namespace", test_names_like_a_model)
