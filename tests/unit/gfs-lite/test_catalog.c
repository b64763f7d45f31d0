/* The namenode's state machine, by its commands: chunks and who may add them,
 * snapshots, trash, quotas, locks, images. */
#include "tests/unit/gfs-lite/catalog_run.h"

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
 * its own word; after the recovery's seal it continues behind it. */
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

/* Creating a file again takes it from its writer. */
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
    run(&m, (struct gfs_command){.op = GFS_OP_REAP});
    ck_assert_ptr_null(chunk_map_get(&m.names.chunks, c.chunk));
    names_check(&m.names);
    catalog_close(&m);
}

END_TEST

/* A discarded file lies in the trash under its old path until its time. */
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

/* Add a file of @count chunks and leave it open. */
static struct gfs_result
make_long_file(struct catalog *m, const char *path, unsigned count)
{
    struct gfs_result f = run(
        m, (struct gfs_command){.op = GFS_OP_CREATE, .path = slice_str(path)});
    uint64_t last = 0;
    for (unsigned i = 0; i < count; i++)
        last = run(m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                           .file = f.file,
                                           .epoch = f.epoch,
                                           .chunk = last,
                                           .length = 10})
                   .chunk;
    return f;
}

/* The number of inodes and chunks that one command freed. */
static size_t reap(struct catalog *m)
{
    size_t before = m->names.inodes.count + m->names.chunks.by_handle.count;
    run(m, (struct gfs_command){.op = GFS_OP_REAP});
    return before - m->names.inodes.count - m->names.chunks.by_handle.count;
}

/* A tree is gone in one step, for its writers as well, and freed in steps of
 * bounded size, of which each can be saved and loaded. */
START_TEST(test_trees_are_freed_in_steps)
{
    struct gfs_command rm = {
        .op = GFS_OP_REMOVE, .path = SLICE_LIT("d"), .flags = GFS_TREE};
    struct catalog m;
    struct gfs_result f;
    struct inode *n;
    char path[64];
    size_t steps = 0;
    size_t freed;
    begin(&m);
    for (int i = 0; i < 4000; i++) {
        snprintf(path, sizeof(path), "d/%d/%d", i % 7, i);
        make_file(&m, path, i % 2 ? 100 : 0);
    }
    f = make_long_file(&m, "d/3/long", 3000);
    ck_assert_int_eq(run(&m, rm).code, 0);
    ck_assert_int_eq(names_find(&m.names, SLICE_LIT("d"), &n, NULL),
                     ERR_NOTFOUND);
    ck_assert_uint_eq(m.names.root->u.directory->entry_count, 0);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                                  .file = f.file,
                                                  .epoch = f.epoch})
                         .code,
                     ERR_NOTFOUND);
    while (names_has_doomed(&m.names)) {
        freed = reap(&m);
        ck_assert_uint_gt(freed, 0);
        ck_assert_uint_le(freed, (size_t)2 * NAMES_STEP_MAX);
        names_check(&m.names);
        check_image(&m);
        steps++;
    }
    ck_assert_uint_ge(steps, 7);
    ck_assert_uint_eq(m.names.inodes.count, 1);
    ck_assert_uint_eq(m.names.chunks.by_handle.count, 0);
    ck_assert_uint_eq(m.names.open_files.count, 0);
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

TEST_MAIN("catalog",
          test_writer_adds_chunks,
          test_fenced_writer,
          test_epochs_fence_writers,
          test_repeated_commands,
          test_snapshot_shares_chunks,
          test_trash,
          test_trees_are_freed_in_steps,
          test_quotas,
          test_snapshot_within_quotas,
          test_locks,
          test_damaged_images)
