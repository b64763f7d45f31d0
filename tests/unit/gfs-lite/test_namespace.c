/* The namenode's state machine does to names what an obvious model does, and an
 * image brings the same state back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "gfs-lite/namenode/catalog.h"
#include "tests/lib/check_main.h"

/* --- Helpers ----------------------------------------------------------- */

static uint64_t log_index;
static uint64_t session;
static uint64_t sequence;

static struct gfs_result run(struct catalog *m, struct gfs_command c)
{
    static struct buf reply; /* What the result's texts borrow from. */
    struct buf bytes = BUF_INIT;
    struct gfs_result r;
    buf_clear(&reply);
    if (c.sequence == 0 && gfs_op_is_for_clients(c.op)) {
        c.session = session;
        c.sequence = ++sequence;
        c.answered = sequence - 1;
    }
    gfs_command_put(&c, &bytes);
    catalog_apply(m, ++log_index, buf_slice(&bytes), &reply);
    buf_close(&bytes);
    ck_assert_int_eq(gfs_result_get(buf_slice(&reply), &r, NULL), 0);
    return r;
}

static void begin(struct catalog *m)
{
    catalog_init(m);
    log_index = 100;
    sequence = 0;
    session = run(m, (struct gfs_command){.op = GFS_OP_SESSION_OPEN,
                                          .text = SLICE_LIT("test")})
                  .session;
    ck_assert_uint_ne(session, 0);
    sequence = 0;
}

/* A closed file of one chunk. */
static void make_file(struct catalog *m, const char *path, uint64_t bytes)
{
    struct gfs_result f = run(
        m, (struct gfs_command){.op = GFS_OP_CREATE, .path = slice_str(path)});
    struct gfs_command c = {
        .op = GFS_OP_ALLOCATE, .file = f.file, .epoch = f.epoch};
    c.chunk = run(m, c).chunk;
    c.op = GFS_OP_CLOSE;
    c.length = bytes;
    ck_assert_int_eq(run(m, c).code, 0);
}

/* Everything that can be seen, one line an inode. */
static void
dump(const struct names *ns, const struct inode *n, int depth, struct buf *out)
{
    buf_printf(out, "%*s%.*s %llu", depth, "", SLICE_ARG(inode_name(n)),
               (unsigned long long)n->id);
    if (n->is_directory) {
        buf_printf(out, "/ %llu %llu\n",
                   (unsigned long long)n->u.directory->entry_count,
                   (unsigned long long)n->u.directory->bytes);
        for (struct inode *e = inode_entries_first(n->u.directory->entries); e;
             e = inode_entries_after(n->u.directory->entries, inode_name(e)))
            dump(ns, e, depth + 1, out);
        return;
    }
    for (uint32_t i = 0; i < n->chunk_count; i++) {
        const struct chunk *c = inode_chunk(n, i);
        buf_printf(out, " %llu v%u:%u+%u%s r%u", (unsigned long long)c->handle,
                   c->version, c->pending, c->length, c->sealed ? "" : "?",
                   c->replication);
    }
    buf_printf(out, "%s\n", id_map_get(&ns->open_files, n->id) ? " open" : "");
}

/* The image of @m gives a machine that looks and goes on like it. */
static void check_image(struct catalog *m)
{
    struct buf image = BUF_INIT;
    struct buf before = BUF_INIT;
    struct buf after = BUF_INIT;
    struct err why = ERR_INIT;
    catalog_save(m, &image);
    dump(&m->names, m->names.root, 0, &before);
    ck_assert_msg(catalog_load(m, buf_slice(&image), &why) == 0, "%s",
                  why.text);
    names_check(&m->names);
    dump(&m->names, m->names.root, 0, &after);
    ck_assert_str_eq(buf_cstr(&before), buf_cstr(&after));
    buf_close(&image);
    buf_close(&before);
    buf_close(&after);
}

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

static void draw_path(struct rand_gen *r, char out[64])
{
    size_t depth = 1 + rand_below(r, 3);
    size_t n = 0;
    for (size_t i = 0; i < depth; i++)
        n += (size_t)snprintf(out + n, 64 - n, "%s%c", i ? "/" : "",
                              (char)('a' + rand_below(r, 4)));
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
        if (i % 50 == 0)
            compare(&m, &model);
        if (i % 1000 == 0)
            check_image(&m);
    }
    compare(&m, &model);
    catalog_close(&m);
}

END_TEST

/* A writer's way: chunks are added, the one before is sealed at the length it
 * says, without bytes it goes; the file's size is theirs. */
START_TEST(test_writer_adds_chunks)
{
    struct catalog m;
    struct gfs_result file;
    struct gfs_result c1;
    struct gfs_result c2;
    struct inode *n;
    begin(&m);
    file = run(&m, (struct gfs_command){.op = GFS_OP_CREATE,
                                        .path = SLICE_LIT("d/f"),
                                        .replication = 3});
    ck_assert_int_eq(file.code, 0);
    c1 = run(&m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                      .file = file.file,
                                      .epoch = file.epoch,
                                      .servers = {{4, 5, 6}, 3}});
    ck_assert_int_eq(c1.code, 0);
    ck_assert_uint_eq(c1.servers.count, 3);
    c2 = run(&m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                      .file = file.file,
                                      .epoch = file.epoch,
                                      .chunk = c1.chunk,
                                      .length = 1000,
                                      .servers = {{1, 2, 3}, 3}});
    ck_assert_int_eq(c2.code, 0);
    check_image(&m);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_CLOSE,
                                                  .file = file.file,
                                                  .epoch = file.epoch,
                                                  .chunk = c2.chunk,
                                                  .length = 0})
                         .code,
                     0);
    ck_assert_int_eq(names_find(&m.names, SLICE_LIT("d/f"), &n, NULL), 0);
    ck_assert_uint_eq(inode_bytes(n), 1000);
    ck_assert_uint_eq(n->chunk_count, 1);
    ck_assert_uint_eq(n->parent->u.directory->bytes, 1000);
    ck_assert_ptr_null(chunk_map_get(&m.names.chunks, c2.chunk));
    names_check(&m.names);
    catalog_close(&m);
}

END_TEST

/* Once a chunk is fenced its writer can neither seal it nor close the file at
 * its own word; after the recovery's seal it goes on behind it. */
START_TEST(test_fenced_writer)
{
    struct catalog m;
    struct gfs_result file;
    struct gfs_result c;
    struct gfs_result f;
    begin(&m);
    file = run(&m, (struct gfs_command){.op = GFS_OP_CREATE,
                                        .path = SLICE_LIT("f"),
                                        .replication = 3});
    c = run(&m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                     .file = file.file,
                                     .epoch = file.epoch,
                                     .servers = {{4, 5, 6}, 3}});
    f = run(&m, (struct gfs_command){
                    .op = GFS_OP_FENCE, .file = file.file, .chunk = c.chunk});
    ck_assert_uint_eq(f.version, 2);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_CLOSE,
                                                  .file = file.file,
                                                  .epoch = file.epoch,
                                                  .chunk = c.chunk,
                                                  .length = 9})
                         .code,
                     ERR_ABORTED);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_SEAL,
                                                  .file = file.file,
                                                  .chunk = c.chunk,
                                                  .version = 1,
                                                  .length = 9})
                         .code,
                     ERR_ABORTED); /* That version is of the past. */
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_SEAL,
                                                  .file = file.file,
                                                  .chunk = c.chunk,
                                                  .version = 2,
                                                  .length = 7})
                         .code,
                     0);
    check_image(&m);
    c = run(&m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                     .file = file.file,
                                     .epoch = file.epoch,
                                     .chunk = c.chunk,
                                     .length = 9,
                                     .servers = {{4}, 1}});
    ck_assert_int_eq(c.code, 0);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_CLOSE,
                                                  .file = file.file,
                                                  .epoch = file.epoch,
                                                  .chunk = c.chunk,
                                                  .length = 5})
                         .code,
                     0);
    ck_assert_uint_eq(m.names.root->u.directory->bytes, 12);
    catalog_close(&m);
}

END_TEST

/* Who creates a file anew takes it from its writer. */
START_TEST(test_epochs_fence_writers)
{
    struct catalog m;
    struct gfs_result old;
    struct gfs_result new;
    begin(&m);
    old = run(
        &m, (struct gfs_command){.op = GFS_OP_CREATE, .path = SLICE_LIT("f")});
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_APPEND_OPEN,
                                                  .path = SLICE_LIT("f")})
                         .code,
                     ERR_BUSY);
    new = run(
        &m, (struct gfs_command){.op = GFS_OP_CREATE, .path = SLICE_LIT("f")});
    ck_assert_uint_gt(new.epoch, old.epoch);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                                  .file = old.file,
                                                  .epoch = old.epoch})
                         .code,
                     ERR_NOTFOUND);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_CLOSE,
                                                  .file = new.file,
                                                  .epoch = old.epoch})
                         .code,
                     ERR_ABORTED);
    catalog_close(&m);
}

END_TEST

/* A command that comes again is answered as the first time, and done once. */
START_TEST(test_repeated_commands)
{
    struct gfs_command c = {
        .op = GFS_OP_CREATE, .path = SLICE_LIT("f"), .flags = GFS_EXCLUSIVE};
    struct catalog m;
    uint64_t first;
    begin(&m);
    c.session = session;
    c.sequence = 1;
    first = run(&m, c).file;
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_eq(run(&m, c).file, first);
    check_image(&m);
    ck_assert_uint_eq(run(&m, c).file, first);
    c.sequence = 2;
    ck_assert_int_eq(run(&m, c).code, ERR_EXISTS);
    c.sequence = 3;
    c.answered = 2;
    ck_assert_int_eq(run(&m, c).code, ERR_EXISTS);
    c.sequence = 1; /* It said itself that it has this answer. */
    ck_assert_int_eq(run(&m, c).code, ERR_ABORTED);
    catalog_close(&m);
}

END_TEST

/* A snapshot shares chunks, is not touched by what is done to its source, and
 * is refused while a chunk of it is open. */
START_TEST(test_snapshot_shares_chunks)
{
    struct gfs_command snapshot = {
        .op = GFS_OP_SNAPSHOT, .path = SLICE_LIT("d"), .to = SLICE_LIT("s")};
    struct catalog m;
    struct gfs_result file;
    struct gfs_result c;
    struct inode *n;
    begin(&m);
    file = run(&m, (struct gfs_command){.op = GFS_OP_CREATE,
                                        .path = SLICE_LIT("d/e/f"),
                                        .replication = 2});
    c = run(&m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                     .file = file.file,
                                     .epoch = file.epoch});
    {
        struct gfs_result busy = run(&m, snapshot);
        ck_assert_int_eq(busy.code, ERR_BUSY);
        ck_assert_uint_eq(busy.file, file.file);
    }
    run(&m, (struct gfs_command){.op = GFS_OP_CLOSE,
                                 .file = file.file,
                                 .epoch = file.epoch,
                                 .chunk = c.chunk,
                                 .length = 77});
    ck_assert_int_eq(run(&m, snapshot).code, 0);
    ck_assert_uint_eq(chunk_map_get(&m.names.chunks, c.chunk)->refs, 2);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_SET_REPLICATION,
                                                  .path = SLICE_LIT("s"),
                                                  .replication = 5})
                         .code,
                     0);
    ck_assert_uint_eq(chunk_map_get(&m.names.chunks, c.chunk)->replication, 5);
    check_image(&m);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_REMOVE,
                                                  .path = SLICE_LIT("d"),
                                                  .flags = GFS_TREE})
                         .code,
                     0);
    ck_assert_int_eq(names_find(&m.names, SLICE_LIT("s/e/f"), &n, NULL), 0);
    ck_assert_uint_eq(inode_bytes(n), 77);
    run(&m, (struct gfs_command){.op = GFS_OP_REMOVE,
                                 .path = SLICE_LIT("s"),
                                 .flags = GFS_TREE});
    ck_assert_ptr_null(chunk_map_get(&m.names.chunks, c.chunk));
    names_check(&m.names);
    catalog_close(&m);
}

END_TEST

/* What is discarded lies in the trash under its old path until its time. */
START_TEST(test_trash)
{
    struct catalog m;
    struct inode *n;
    begin(&m);
    run(&m,
        (struct gfs_command){.op = GFS_OP_CREATE, .path = SLICE_LIT("a/b/f")});
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_REMOVE,
                                                  .path = SLICE_LIT("a/b"),
                                                  .flags = GFS_TRASH,
                                                  .time_us = 5000})
                         .code,
                     0);
    ck_assert_int_eq(names_find(&m.names, SLICE_LIT("a/b"), &n, NULL),
                     ERR_NOTFOUND);
    ck_assert_int_eq(names_find(&m.names, SLICE_LIT(".trash"), &n, NULL), 0);
    ck_assert_uint_eq(n->u.directory->file_count, 1);
    run(&m, (struct gfs_command){.op = GFS_OP_TRASH_EXPIRE, .length = 5000});
    ck_assert_uint_eq(n->u.directory->file_count, 1);
    run(&m, (struct gfs_command){.op = GFS_OP_TRASH_EXPIRE, .length = 5001});
    ck_assert_uint_eq(n->u.directory->entry_count, 0);
    names_check(&m.names);
    catalog_close(&m);
}

END_TEST

/* Quotas hold for all below a directory, and for what moves there. */
START_TEST(test_quotas)
{
    struct catalog m;
    begin(&m);
    run(&m, (struct gfs_command){.op = GFS_OP_MKDIRS, .path = SLICE_LIT("q")});
    run(&m, (struct gfs_command){
                .op = GFS_OP_SET_QUOTA, .path = SLICE_LIT("q"), .length = 3});
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_CREATE,
                                                  .path = SLICE_LIT("q/a/b")})
                         .code,
                     0);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_CREATE,
                                                  .path = SLICE_LIT("x")})
                         .code,
                     0);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_RENAME,
                                                  .path = SLICE_LIT("x"),
                                                  .to = SLICE_LIT("q/x")})
                         .code,
                     0);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_CREATE,
                                                  .path = SLICE_LIT("q/y")})
                         .code,
                     ERR_EXHAUSTED);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_RENAME,
                                                  .path = SLICE_LIT("q/x"),
                                                  .to = SLICE_LIT("q/a/x")})
                         .code,
                     0); /* It does not become more. */
    check_image(&m);
    catalog_close(&m);
}

END_TEST

/* A copy by snapshot counts like files that were written: it is refused where a
 * quota of entries or of bytes has no room for it, and nothing of it stays. */
START_TEST(test_snapshot_within_quotas)
{
    struct gfs_command copy = {
        .op = GFS_OP_SNAPSHOT, .path = SLICE_LIT("s"), .to = SLICE_LIT("q/s")};
    struct gfs_command set = {.op = GFS_OP_SET_QUOTA, .path = SLICE_LIT("q")};
    struct catalog m;
    struct inode *q;
    struct gfs_result r;
    begin(&m);
    run(&m, (struct gfs_command){.op = GFS_OP_MKDIRS, .path = SLICE_LIT("q")});
    make_file(&m, "s/a", 1000);
    make_file(&m, "s/b", 2000);
    ck_assert_int_eq(names_find(&m.names, SLICE_LIT("q"), &q, NULL), 0);
    set.length = 2; /* The copy has three entries. */
    run(&m, set);
    r = run(&m, copy);
    ck_assert_int_eq(r.code, ERR_EXHAUSTED);
    ck_assert(slice_starts_with(r.text, SLICE_LIT("/q: quota of 2 files")));
    set.length = 0;
    set.bytes = 2999;
    run(&m, set);
    r = run(&m, copy);
    ck_assert_int_eq(r.code, ERR_EXHAUSTED);
    ck_assert(slice_starts_with(r.text, SLICE_LIT("/q: quota of 2999 bytes")));
    ck_assert_uint_eq(q->u.directory->entry_count, 0);
    set.bytes = 3000;
    run(&m, set);
    ck_assert_int_eq(run(&m, copy).code, 0);
    ck_assert_uint_eq(q->u.directory->bytes, 3000);
    check_image(&m);
    catalog_close(&m);
}

END_TEST

/* A lock is one session's until it unlocks or ends; others learn who has it. */
START_TEST(test_locks)
{
    struct catalog m;
    uint64_t first;
    uint64_t file;
    begin(&m);
    first = session;
    file =
        run(&m, (struct gfs_command){.op = GFS_OP_LOCK, .path = SLICE_LIT("L")})
            .file;
    ck_assert_uint_ne(file, 0);
    session = run(&m, (struct gfs_command){.op = GFS_OP_SESSION_OPEN,
                                           .text = SLICE_LIT("other")})
                  .session;
    sequence = 0;
    {
        struct gfs_result r =
            run(&m, (struct gfs_command){.op = GFS_OP_LOCK,
                                         .path = SLICE_LIT("L")});
        ck_assert_int_eq(r.code, ERR_BUSY);
        ck_assert(slice_ends_with(r.text, SLICE_LIT("held by test")));
    }
    ck_assert_int_eq(
        run(&m, (struct gfs_command){.op = GFS_OP_UNLOCK, .file = file}).code,
        ERR_NOTFOUND);
    check_image(&m);
    run(&m,
        (struct gfs_command){.op = GFS_OP_SESSION_EXPIRE, .session = first});
    ck_assert_int_eq(
        run(&m, (struct gfs_command){.op = GFS_OP_LOCK, .path = SLICE_LIT("L")})
            .code,
        0);
    catalog_close(&m);
}

END_TEST

/* No damaged image is taken, crashes the reader, or leaves anything behind. */
START_TEST(test_damaged_images)
{
    struct catalog m;
    struct buf image = BUF_INIT;
    struct rand_gen r;
    rand_init(&r, test_seed());
    begin(&m);
    for (int i = 0; i < 60; i++) {
        char path[64];
        struct gfs_result f;
        draw_path(&r, path);
        f = run(&m, (struct gfs_command){.op = GFS_OP_CREATE,
                                         .path = slice_str(path)});
        if (f.code == 0)
            run(&m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                         .file = f.file,
                                         .epoch = f.epoch});
    }
    catalog_save(&m, &image);
    for (size_t i = 0; i < image.len; i++)
        ck_assert_int_ne(
            catalog_load(&m, slice_sub(buf_slice(&image), 0, i), NULL) == 0 &&
                i > 0,
            1);
    for (int i = 0; i < 5000; i++) {
        size_t at = rand_below(&r, image.len);
        char old = image.data[at];
        image.data[at] = (char)rand_u64(&r);
        if (catalog_load(&m, buf_slice(&image), NULL) == 0)
            names_check(&m.names);
        else
            ck_assert_uint_eq(m.names.inodes.count, 1);
        image.data[at] = old;
    }
    buf_close(&image);
    catalog_close(&m);
}

END_TEST

TEST_MAIN("namespace",
          test_names_like_a_model,
          test_writer_adds_chunks,
          test_fenced_writer,
          test_epochs_fence_writers,
          test_repeated_commands,
          test_snapshot_shares_chunks,
          test_trash,
          test_quotas,
          test_snapshot_within_quotas,
          test_locks,
          test_damaged_images)
