/* Snapshots of the namenode's state machine that are made step by step: what is
 * seen meanwhile, which commands wait, which continue, and how they end. */
#include "tests/unit/gfs-lite/catalog_run.h"

#define FILES 20

/* --- Helpers ------------------------------------------------------------- */

/* A tree d of FILES files with a chunk of 10 bytes each. */
static void begin_with_tree(struct catalog *m)
{
    begin(m);
    for (int i = 0; i < FILES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "d/%d/%c", i / 4, (char)('a' + i % 4));
        make_file(m, path, 10);
    }
}

static struct gfs_command snapshot_of(const char *from, const char *to)
{
    return (struct gfs_command){.op = GFS_OP_SNAPSHOT,
                                .path = slice_str(from),
                                .to = slice_str(to),
                                .length = 3};
}

/* Begin a snapshot of @from that takes more than one command. */
static struct gfs_command
begin_copy(struct catalog *m, const char *from, const char *to)
{
    struct gfs_command c = snapshot_of(from, to);
    struct gfs_result r = run(m, c);
    ck_assert_int_eq(r.code, 0);
    ck_assert_uint_ne(r.file, 0);
    ck_assert(names_is_copying(&m->names));
    c.session = session;
    c.sequence = sequence;
    unanswered = sequence;
    return c;
}

static void step(struct catalog *m)
{
    ck_assert_int_eq(
        run(m, (struct gfs_command){.op = GFS_OP_COPY, .length = 3}).code, 0);
    names_check(&m->names);
    check_image(m);
}

/* How @c, a snapshot, ended. */
static int finish(struct catalog *m, struct gfs_command c)
{
    struct gfs_result r;
    while (names_is_copying(&m->names))
        step(m);
    r = run(m, c);
    ck_assert_uint_eq(r.file, 0);
    unanswered = 0;
    return r.code;
}

static struct inode *find(struct catalog *m, const char *path)
{
    struct inode *n;
    if (names_find(&m->names, slice_str(path), &n, NULL))
        return NULL;
    return n;
}

/* Free what was removed or given up. */
static void reap_all(struct catalog *m)
{
    while (names_has_doomed(&m->names))
        run(m, (struct gfs_command){.op = GFS_OP_REAP});
    names_check(&m->names);
}

static int try_op(struct catalog *m, enum gfs_op op, const char *path)
{
    return run(m, (struct gfs_command){.op = op,
                                       .path = slice_str(path),
                                       .replication = 2,
                                       .flags =
                                           op == GFS_OP_REMOVE ? GFS_TREE : 0})
        .code;
}

static int try_rename(struct catalog *m, const char *from, const char *to)
{
    return run(m, (struct gfs_command){.op = GFS_OP_RENAME,
                                       .path = slice_str(from),
                                       .to = slice_str(to)})
        .code;
}

static struct gfs_result append_open(struct catalog *m, const char *path)
{
    return run(m, (struct gfs_command){.op = GFS_OP_APPEND_OPEN,
                                       .path = slice_str(path)});
}

/* --- Tests --------------------------------------------------------------- */

/* Until all of it is there no path, number or counter shows the copy; it is
 * not freed meanwhile, as removed trees are. */
START_TEST(test_nothing_is_seen_before_all_is)
{
    struct catalog m;
    struct gfs_command c;
    struct directory before;
    uint64_t inodes;
    unsigned steps = 0;
    begin_with_tree(&m);
    before = *m.names.root->u.directory;
    inodes = m.names.inodes.count;
    c = begin_copy(&m, "d", "x/s");
    run(&m, (struct gfs_command){.op = GFS_OP_REMOVE,
                                 .path = SLICE_LIT("x"),
                                 .flags = GFS_TREE});
    for (; names_is_copying(&m.names); steps++) {
        ck_assert_ptr_null(find(&m, "x"));
        ck_assert_ptr_null(names_by_id(&m.names, m.names.copy.top->id));
        ck_assert_uint_eq(m.names.root->u.directory->entry_count,
                          before.entry_count);
        ck_assert_uint_eq(m.names.root->u.directory->bytes, before.bytes);
        reap_all(&m);
        step(&m);
    }
    ck_assert_uint_ge(steps, 7);
    ck_assert_int_eq(finish(&m, c), 0);
    ck_assert_uint_eq(m.names.inodes.count, 2 * inodes); /* d twice, /, x. */
    ck_assert_uint_eq(find(&m, "x/s")->u.directory->file_count, FILES);
    ck_assert_uint_eq(find(&m, "x/s")->u.directory->bytes, 10 * FILES);
    ck_assert_ptr_eq(inode_chunk(find(&m, "x/s/2/b"), 0),
                     inode_chunk(find(&m, "d/2/b"), 0));
    try_op(&m, GFS_OP_REMOVE, "d");
    reap_all(&m);
    ck_assert_uint_eq(inode_bytes(find(&m, "x/s/2/b")), 10);
    catalog_close(&m);
}

END_TEST

/* A change of a name in the source waits: the same command is executed
 * once the copy is whole, and once only. */
START_TEST(test_names_keep_still)
{
    struct gfs_command create = {.op = GFS_OP_CREATE,
                                 .path = SLICE_LIT("d/new"),
                                 .flags = GFS_EXCLUSIVE,
                                 .replication = 1};
    struct catalog m;
    struct gfs_command c;
    struct gfs_result r;
    begin_with_tree(&m);
    c = begin_copy(&m, "d", "s");
    ck_assert_int_eq(try_op(&m, GFS_OP_MKDIRS, "d/9/8"), ERR_UNAVAILABLE);
    ck_assert_int_eq(try_op(&m, GFS_OP_LOCK, "d/lock"), ERR_UNAVAILABLE);
    ck_assert_int_eq(try_op(&m, GFS_OP_CREATE, "d/1/a"), ERR_UNAVAILABLE);
    ck_assert_int_eq(try_op(&m, GFS_OP_REMOVE, "d/1/a"), ERR_UNAVAILABLE);
    ck_assert_int_eq(try_op(&m, GFS_OP_REMOVE, "d"), ERR_UNAVAILABLE);
    ck_assert_int_eq(try_op(&m, GFS_OP_REMOVE, ""), ERR_UNAVAILABLE);
    ck_assert_int_eq(try_op(&m, GFS_OP_SET_REPLICATION, "d/1"),
                     ERR_UNAVAILABLE);
    ck_assert_int_eq(try_op(&m, GFS_OP_SET_REPLICATION, ""), ERR_UNAVAILABLE);
    ck_assert_int_eq(try_rename(&m, "d/1", "other"), ERR_UNAVAILABLE);
    ck_assert_int_eq(append_open(&m, "d/1/a").code, ERR_UNAVAILABLE);
    create.session = session;
    create.sequence = ++sequence;
    create.answered = unanswered - 1;
    r = run(&m, create);
    ck_assert_int_eq(r.code, ERR_UNAVAILABLE);
    ck_assert(slice_starts_with(r.text, SLICE_LIT("/d: a snapshot")));
    ck_assert_int_eq(try_op(&m, GFS_OP_MKDIRS, "d/1"), 0); /* It is there. */
    ck_assert_int_eq(try_op(&m, GFS_OP_MKDIRS, "other/1"), 0);
    ck_assert_int_eq(try_rename(&m, "other/1", "d/2"), ERR_EXISTS);
    ck_assert_int_eq(try_rename(&m, "other/1", "d/9"), ERR_UNAVAILABLE);
    ck_assert_int_eq(finish(&m, c), 0);
    create.answered = 0;
    ck_assert_int_eq(run(&m, create).code, 0);
    ck_assert_int_eq(run(&m, create).code, 0);
    ck_assert_ptr_nonnull(find(&m, "d/new"));
    ck_assert_ptr_null(find(&m, "s/new"));
    catalog_close(&m);
}

END_TEST

/* Writers that have files of the source open add chunks and close them; the
 * copy has what was there when it began. */
START_TEST(test_writers_go_on)
{
    struct catalog m;
    struct gfs_command c;
    struct gfs_command w = {.op = GFS_OP_ALLOCATE, .time_us = 900};
    struct gfs_result first;
    struct gfs_result last;
    begin_with_tree(&m);
    first = append_open(&m, "d/0/a"); /* Copied before it is written, */
    last = append_open(&m, "d/4/d");  /* and this one after it. */
    c = snapshot_of("d", "s");
    c.time_us = 500;
    run(&m, c);
    c.session = session;
    c.sequence = unanswered = sequence;
    for (int i = 0; i < 2; i++) {
        w.file = i ? last.file : first.file;
        w.epoch = i ? last.epoch : first.epoch;
        w.op = GFS_OP_ALLOCATE;
        w.chunk = 0;
        w.length = 0;
        w.chunk = run(&m, w).chunk;
        ck_assert_uint_ne(w.chunk, 0);
        check_image(&m);
        step(&m); /* One of the two is unsealed when others are copied. */
        w.op = GFS_OP_CLOSE;
        w.length = 7;
        ck_assert_int_eq(run(&m, w).code, 0);
    }
    ck_assert(names_is_copying(&m.names));
    ck_assert_int_eq(finish(&m, c), 0);
    ck_assert_uint_eq(inode_bytes(find(&m, "d/0/a")), 17);
    ck_assert_uint_eq(inode_bytes(find(&m, "d/4/d")), 17);
    ck_assert_uint_eq(inode_bytes(find(&m, "s/0/a")), 10);
    ck_assert_uint_eq(inode_bytes(find(&m, "s/4/d")), 10);
    ck_assert_uint_eq(find(&m, "d/4/d")->modified_us, 900);
    ck_assert_uint_eq(find(&m, "s/4/d")->modified_us, 500);
    ck_assert_uint_eq(find(&m, "s")->u.directory->bytes, 10 * FILES);
    catalog_close(&m);
}

END_TEST

/* The name may be taken, or the room for it, before the copy is whole: all of
 * it goes then, and the client learns why. */
START_TEST(test_copies_that_are_given_up)
{
    struct gfs_command quota = {
        .op = GFS_OP_SET_QUOTA, .path = SLICE_LIT("q"), .length = 5};
    struct catalog m;
    struct gfs_command c;
    uint64_t inodes;
    begin_with_tree(&m);
    try_op(&m, GFS_OP_MKDIRS, "q");
    inodes = m.names.inodes.count;
    c = begin_copy(&m, "d", "q/s");
    run(&m, quota);
    ck_assert_int_eq(finish(&m, c), ERR_EXHAUSTED);
    ck_assert(names_has_doomed(&m.names));
    reap_all(&m);
    ck_assert_uint_eq(m.names.inodes.count, inodes);
    quota.length = 0;
    run(&m, quota);
    c = begin_copy(&m, "d", "q/s");
    try_op(&m, GFS_OP_MKDIRS, "q/s");
    ck_assert_int_eq(finish(&m, c), ERR_EXISTS);
    reap_all(&m);
    ck_assert_uint_eq(m.names.inodes.count, inodes + 1);
    ck_assert_uint_eq(find(&m, "d/1/a")->u.chunk->refs, 1);
    catalog_close(&m);
}

END_TEST

/* The source keeps its entries but not its own place: it can be moved, with
 * what is above it, and into the trash, where it stays for as long. */
START_TEST(test_source_moves)
{
    struct gfs_command expire = {.op = GFS_OP_TRASH_EXPIRE, .length = 1000};
    struct catalog m;
    struct gfs_command c;
    begin_with_tree(&m);
    try_op(&m, GFS_OP_MKDIRS, "up");
    c = begin_copy(&m, "d", "s");
    ck_assert_int_eq(try_rename(&m, "d", "up/e"), 0);
    step(&m);
    ck_assert_int_eq(try_rename(&m, "up", "above"), 0);
    ck_assert_int_eq(try_op(&m, GFS_OP_REMOVE, "above"), ERR_UNAVAILABLE);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_REMOVE,
                                                  .path = SLICE_LIT("above"),
                                                  .flags = GFS_TRASH,
                                                  .time_us = 10})
                         .code,
                     0);
    ck_assert(!names_trash_is_due(&m.names, 1000));
    run(&m, expire);
    ck_assert_int_eq(finish(&m, c), 0);
    ck_assert_uint_eq(find(&m, "s")->u.directory->file_count, FILES);
    run(&m, expire);
    reap_all(&m);
    ck_assert_uint_eq(m.names.root->u.directory->file_count, FILES);
    catalog_close(&m);
}

END_TEST

/* One tree is copied at a time; the next snapshot, of the same or of another
 * one, waits, whatever its size. */
START_TEST(test_one_at_a_time)
{
    struct catalog m;
    struct gfs_command c;
    begin_with_tree(&m);
    c = begin_copy(&m, "d", "s");
    ck_assert_int_eq(run(&m, snapshot_of("d", "t")).code, ERR_UNAVAILABLE);
    ck_assert_int_eq(run(&m, snapshot_of("d/1/a", "t")).code, ERR_UNAVAILABLE);
    ck_assert_int_eq(run(&m, snapshot_of("no", "t")).code, ERR_NOTFOUND);
    ck_assert_int_eq(finish(&m, c), 0);
    c = begin_copy(&m, "s", "t");
    ck_assert_int_eq(finish(&m, c), 0);
    ck_assert_uint_eq(find(&m, "d/1/a")->u.chunk->refs, 3);
    catalog_close(&m);
}

END_TEST

/* A copy does not need the client that wanted it. */
START_TEST(test_session_ends_meanwhile)
{
    struct catalog m;
    begin_with_tree(&m);
    begin_copy(&m, "d", "s");
    run(&m,
        (struct gfs_command){.op = GFS_OP_SESSION_EXPIRE, .session = session});
    while (names_is_copying(&m.names))
        step(&m);
    step(&m); /* Nothing is left to do. */
    ck_assert_uint_eq(find(&m, "s")->u.directory->file_count, FILES);
    unanswered = 0;
    catalog_close(&m);
}

END_TEST

/* Commands of a log from before snapshots went in steps make them at once. */
START_TEST(test_old_commands)
{
    struct gfs_command c = snapshot_of("d", "s");
    struct catalog m;
    struct gfs_result r;
    begin_with_tree(&m);
    c.length = 0;
    r = run(&m, c);
    ck_assert_int_eq(r.code, 0);
    ck_assert_uint_eq(r.file, 0);
    ck_assert_uint_eq(find(&m, "s")->u.directory->file_count, FILES);
    catalog_close(&m);
}

END_TEST

/* Whatever of a damaged image is taken can be copied on from. */
START_TEST(test_damaged_images_of_a_copy)
{
    struct catalog m;
    struct buf image = BUF_INIT;
    struct rand_gen r;
    unsigned taken = 0;
    rand_init(&r, test_seed());
    begin_with_tree(&m);
    append_open(&m, "d/4/d");
    begin_copy(&m, "d", "s");
    catalog_save(&m, &image);
    for (int i = 0; i < 20000; i++) {
        /* The copy is what the image ends with. */
        size_t at = rand_one_in(&r, 2) ? image.len - 1 - rand_below(&r, 16)
                                       : rand_below(&r, image.len);
        char old = image.data[at];
        image.data[at] = (char)rand_u64(&r);
        if (catalog_load(&m, buf_slice(&image), NULL) == 0) {
            taken++;
            names_check(&m.names);
            while (names_is_copying(&m.names))
                run(&m, (struct gfs_command){.op = GFS_OP_COPY, .length = 5});
            names_check(&m.names);
        }
        image.data[at] = old;
    }
    ck_assert_uint_gt(taken, 0);
    unanswered = 0;
    buf_close(&image);
    catalog_close(&m);
}

END_TEST

TEST_MAIN("tree_copy",
          test_nothing_is_seen_before_all_is,
          test_names_keep_still,
          test_writers_go_on,
          test_copies_that_are_given_up,
          test_source_moves,
          test_one_at_a_time,
          test_session_ends_meanwhile,
          test_old_commands,
          test_damaged_images_of_a_copy)
