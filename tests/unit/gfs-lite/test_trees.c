/* Work of the namenode on whole trees is done in steps, so that it holds up no
 * other call, however large they are: removing, setting copies, continuing a
 * walk behind a name that is gone. */
#include "tests/unit/gfs-lite/catalog_run.h"

#define FILES 3000

/* --- Helpers ------------------------------------------------------------- */

/* FILES files in the root, and as many below d. */
static void begin_with_files(struct catalog *m)
{
    begin(m);
    for (int i = 0; i < FILES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "f%d", i);
        run(m,
            (struct gfs_command){.op = GFS_OP_CREATE, .path = slice_str(path)});
        snprintf(path, sizeof(path), "d/%d/%d", i % 7, i);
        make_file(m, path, 10);
    }
}

/* Set it for @path in steps of @most; returns how many these were. */
static unsigned set_replication(struct catalog *m,
                                const char *path,
                                uint32_t replication,
                                uint64_t most)
{
    struct gfs_command c = {.op = GFS_OP_SET_REPLICATION,
                            .path = slice_str(path),
                            .replication = replication,
                            .length = most};
    struct buf after = BUF_INIT;
    struct gfs_result r = run(m, c);
    unsigned steps = 1;
    ck_assert_int_eq(r.code, 0);
    while (r.text.len) {
        buf_clear(&after);
        buf_append_slice(&after, r.text);
        c.op = GFS_OP_REPLICATE;
        c.to = buf_slice(&after);
        r = run(m, c);
        ck_assert_int_eq(r.code, 0);
        steps++;
    }
    buf_close(&after);
    return steps;
}

/* Files of the tree @top with @replication. */
static size_t
count_files(const struct inode *top, uint8_t replication, uint64_t bytes)
{
    size_t count = 0;
    for (const struct inode *n = top; n; n = names_next(top, n))
        count += !n->is_directory && n->replication == replication &&
                 inode_bytes(n) == bytes;
    return count;
}

/* --- Tests --------------------------------------------------------------- */

/* All files of the root are gone with one command, whose work is small, and
 * freed in steps; quotas of the root stay, and so does its number. */
START_TEST(test_root_is_emptied)
{
    struct catalog m;
    size_t inodes;
    unsigned steps = 0;
    begin_with_files(&m);
    run(&m, (struct gfs_command){.op = GFS_OP_SET_QUOTA,
                                 .path = SLICE_LIT(""),
                                 .length = 3 * FILES});
    inodes = m.names.inodes.count;
    for (int i = 0; i < 2; i++) /* The second time there is nothing. */
        ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_REMOVE,
                                                      .path = SLICE_LIT(""),
                                                      .flags = GFS_TREE})
                             .code,
                         0);
    ck_assert_uint_eq(m.names.inodes.count, inodes + 1);
    ck_assert_uint_eq(m.names.root->u.directory->entry_count, 0);
    ck_assert_uint_eq(m.names.root->u.directory->entry_quota, 3 * FILES);
    ck_assert_uint_eq(m.names.root->id, 1);
    names_check(&m.names);
    check_image(&m);
    make_file(&m, "f1", 5);
    for (; names_has_doomed(&m.names); steps++)
        run(&m, (struct gfs_command){.op = GFS_OP_REAP});
    ck_assert_uint_ge(steps, 2 * FILES / NAMES_STEP_MAX);
    ck_assert_uint_eq(m.names.inodes.count, 2);
    ck_assert_uint_eq(m.names.open_files.count, 0);
    names_check(&m.names);
    catalog_close(&m);
}

END_TEST

/* Copies are set for all files below a directory, and for no others, whatever
 * the size of the steps. */
START_TEST(test_copies_are_set_in_steps)
{
    struct catalog m;
    struct inode *d;
    begin_with_files(&m);
    ck_assert_int_eq(names_find(&m.names, SLICE_LIT("d"), &d, NULL), 0);
    ck_assert_uint_eq(set_replication(&m, "d", 2, 0), 1);
    ck_assert_uint_eq(count_files(d, 2, 10), FILES);
    ck_assert_uint_ge(set_replication(&m, "d", 3, 100), FILES / 100);
    ck_assert_uint_eq(count_files(d, 3, 10), FILES);
    ck_assert_uint_ge(set_replication(&m, "d/5", 4, 1), FILES / 7);
    ck_assert_uint_eq(count_files(d, 4, 10), FILES / 7);
    ck_assert_uint_eq(count_files(m.names.root, 1, 0), FILES);
    ck_assert_uint_ge(set_replication(&m, "", 5, 1), 2 * FILES);
    ck_assert_uint_eq(count_files(m.names.root, 5, 0), FILES);
    ck_assert_uint_eq(count_files(d, 5, 10), FILES);
    ck_assert_uint_eq(set_replication(&m, "f7", 2, 1), 1);
    ck_assert_uint_eq(count_files(m.names.root, 2, 0), 1);
    catalog_close(&m);
}

END_TEST

#define PATHS 400

/* A walk in parts continues behind where it was, though that is gone, or
 * another kind of thing by now. */
START_TEST(test_walk_goes_on)
{
    static char paths[PATHS][64];
    struct catalog m;
    struct rand_gen r;
    size_t count = 0;
    begin(&m);
    rand_init(&r, test_seed());
    for (int i = 0; i < 200; i++) {
        char path[64];
        draw_path(&r, path);
        run(&m, (struct gfs_command){.op = rand_one_in(&r, 2) ? GFS_OP_MKDIRS
                                                              : GFS_OP_CREATE,
                                     .path = slice_str(path)});
    }
    for (const struct inode *n = names_next(m.names.root, m.names.root); n;
         n = names_next(m.names.root, n)) {
        struct buf path = BUF_INIT;
        inode_put_path(n, &path);
        ck_assert(names_can_be_found(n));
        snprintf(paths[count++], sizeof(paths[0]), "%s", buf_cstr(&path));
        buf_close(&path);
    }
    ck_assert(!names_can_be_found(m.names.root));
    ck_assert_uint_gt(count, 20);
    while (m.names.root->u.directory->entries) {
        size_t last = count; /* Downwards: the next one that is still there. */
        for (size_t i = count; i > 0; i--) {
            struct buf path = BUF_INIT;
            const struct inode *next = names_next_after(
                &m.names, m.names.root, slice_str(paths[i - 1]));
            struct inode *n;
            if (next)
                inode_put_path(next, &path);
            ck_assert_str_eq(buf_cstr(&path), last < count ? paths[last] : "");
            buf_close(&path);
            if (names_find(&m.names, slice_str(paths[i - 1]), &n, NULL) == 0)
                last = i - 1;
        }
        run(&m, (struct gfs_command){
                    .op = GFS_OP_REMOVE,
                    .path = slice_str(paths[rand_below(&r, count)]),
                    .flags = GFS_TREE});
    }
    catalog_close(&m);
}

END_TEST

/* Nor does it leave the tree it walks over. */
START_TEST(test_walk_stays_below)
{
    struct catalog m;
    struct inode *d;
    begin(&m);
    make_file(&m, "d/a", 1);
    make_file(&m, "d/c", 1);
    make_file(&m, "e", 1);
    ck_assert_int_eq(names_find(&m.names, SLICE_LIT("d"), &d, NULL), 0);
    ck_assert_ptr_nonnull(names_next_after(&m.names, d, SLICE_LIT("d/b")));
    ck_assert_ptr_null(names_next_after(&m.names, d, SLICE_LIT("d/c")));
    ck_assert_ptr_null(names_next_after(&m.names, d, SLICE_LIT("d/d")));
    ck_assert_ptr_null(names_next_after(&m.names, d, SLICE_LIT("c")));
    ck_assert_ptr_null(names_next_after(&m.names, d, SLICE_LIT("")));
    catalog_close(&m);
}

END_TEST

TEST_MAIN("trees",
          test_root_is_emptied,
          test_copies_are_set_in_steps,
          test_walk_goes_on,
          test_walk_stays_below)
