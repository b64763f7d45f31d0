/* No name comes to lie deeper than one can be made, where no path would lead to
 * it: not by moves, nor by copies. */
#include "tests/unit/gfs-lite/catalog_run.h"

#define PATH_BYTES 256
#define STEPS      1500

/* --- Helpers ------------------------------------------------------------- */

/* FIRST/d/d… of @parts parts. Good for three calls. */
static const char *deep(const char *first, unsigned parts)
{
    static char paths[3][PATH_BYTES];
    static unsigned turn;
    char *path = paths[turn++ % 3];
    size_t len = strlen(first);
    ck_assert_uint_lt(len + 2 * (size_t)parts, PATH_BYTES);
    memcpy(path, first, len + 1);
    for (unsigned i = 1; i < parts; i++)
        strcat(path, "/d");
    return path;
}

static int with_flags(struct catalog *m,
                      enum gfs_op op,
                      const char *path,
                      const char *to,
                      uint32_t flags)
{
    struct gfs_result r = run(m, (struct gfs_command){.op = op,
                                                      .path = slice_str(path),
                                                      .to = slice_str(to),
                                                      .flags = flags});
    names_check(&m->names);
    return r.code;
}

static int
order(struct catalog *m, enum gfs_op op, const char *path, const char *to)
{
    return with_flags(m, op, path, to, 0);
}

/* "x" in a directory that is so deep itself. */
static const char *place(unsigned depth)
{
    static char path[PATH_BYTES + 2];
    snprintf(path, sizeof(path), "%s/x", deep("to", depth));
    return path;
}

static bool is_there(const struct catalog *m, const char *path)
{
    struct inode *n;
    return names_find(&m->names, slice_str(path), &n, NULL) == 0;
}

/* Directories for the places, and a file that is the tenth of its path. */
static void begin_with_deep(struct catalog *m)
{
    begin(m);
    ck_assert_int_eq(order(m, GFS_OP_MKDIRS, deep("to", GFS_DEPTH_MAX - 1), ""),
                     0);
    ck_assert_int_eq(order(m, GFS_OP_CREATE, deep("from", 10), ""), 0);
}

/* The only thing in the trash. */
static const char *discarded(const struct catalog *m)
{
    static char path[PATH_BYTES];
    struct inode *trash;
    struct buf found = BUF_INIT;
    ck_assert_int_eq(
        names_find(&m->names, SLICE_LIT(NAMESPACE_TRASH), &trash, NULL), 0);
    inode_put_path(trash->u.directory->entries->u.directory->entries, &found);
    snprintf(path, sizeof(path), "%s", buf_cstr(&found));
    buf_close(&found);
    return path;
}

/* --- Tests --------------------------------------------------------------- */

/* A tree is moved as deep as its deepest name allows; once that is gone,
 * deeper. */
START_TEST(test_renamed)
{
    struct catalog m;
    begin_with_deep(&m);
    for (unsigned depth = GFS_DEPTH_MAX - 1; depth > GFS_DEPTH_MAX - 10;
         depth--)
        ck_assert_int_eq(order(&m, GFS_OP_RENAME, "from", place(depth)),
                         ERR_INVALID);
    ck_assert(is_there(&m, deep("from", 10)));
    ck_assert_int_eq(
        order(&m, GFS_OP_RENAME, "from", place(GFS_DEPTH_MAX - 10)), 0);
    ck_assert(is_there(&m, deep(place(GFS_DEPTH_MAX - 10), 10)));
    ck_assert_int_eq(
        order(&m, GFS_OP_RENAME, place(GFS_DEPTH_MAX - 10), "from"), 0);
    ck_assert_int_eq(order(&m, GFS_OP_REMOVE, deep("from", 10), ""), 0);
    ck_assert_int_eq(order(&m, GFS_OP_RENAME, "from", place(GFS_DEPTH_MAX - 9)),
                     0);
    ck_assert(is_there(&m, deep(place(GFS_DEPTH_MAX - 9), 9)));
    catalog_close(&m);
}

END_TEST

/* Copies likewise; one that is refused leaves nothing. */
START_TEST(test_copied)
{
    struct catalog m;
    begin_with_deep(&m);
    ck_assert_int_eq(
        order(&m, GFS_OP_SNAPSHOT, "from", place(GFS_DEPTH_MAX - 9)),
        ERR_INVALID);
    ck_assert(!is_there(&m, place(GFS_DEPTH_MAX - 9)));
    ck_assert(!names_is_copying(&m.names));
    ck_assert_int_eq(
        order(&m, GFS_OP_SNAPSHOT, "from", place(GFS_DEPTH_MAX - 10)), 0);
    ck_assert(is_there(&m, deep(place(GFS_DEPTH_MAX - 10), 10)));
    catalog_close(&m);
}

END_TEST

/* Files below a directory go to the trash with it, however deep, and come back
 * with it. A file that could not be found there itself does not go. */
START_TEST(test_discarded)
{
    struct catalog m;
    char back[PATH_BYTES];
    begin(&m);
    ck_assert_int_eq(order(&m, GFS_OP_MKDIRS, deep("a", GFS_DEPTH_MAX), ""), 0);
    for (unsigned depth = GFS_DEPTH_MAX; depth > GFS_DEPTH_MAX - 2; depth--)
        ck_assert_int_eq(
            with_flags(&m, GFS_OP_REMOVE, deep("a", depth), "", GFS_TRASH),
            ERR_INVALID);
    ck_assert(is_there(&m, deep("a", GFS_DEPTH_MAX)));
    ck_assert_int_eq(with_flags(&m, GFS_OP_REMOVE, "a", "", GFS_TRASH), 0);
    snprintf(back, sizeof(back), "%s", discarded(&m));
    ck_assert_int_eq(order(&m, GFS_OP_RENAME, back, "b"), 0);
    ck_assert(is_there(&m, deep("b", GFS_DEPTH_MAX)));
    catalog_close(&m);
}

END_TEST

/* Half of them are of trees, not of what is at their ends. */
static unsigned draw_depth(struct rand_gen *r)
{
    return 1 + (unsigned)rand_below(r, rand_one_in(r, 2) ? 4 : GFS_DEPTH_MAX);
}

/* Whatever is moved, copied and removed, and in whatever order. */
START_TEST(test_everything_is_found)
{
    static const enum gfs_op ops[] = {GFS_OP_MKDIRS,   GFS_OP_MKDIRS,
                                      GFS_OP_RENAME,   GFS_OP_RENAME,
                                      GFS_OP_SNAPSHOT, GFS_OP_REMOVE};
    struct catalog m;
    struct rand_gen r;
    unsigned moved = 0;
    unsigned refused = 0;
    begin(&m);
    rand_init(&r, test_seed());
    for (int i = 0; i < STEPS; i++) {
        char first[] = {(char)('a' + rand_below(&r, 3)), '\0'};
        char second[] = {(char)('a' + rand_below(&r, 3)), '\0'};
        enum gfs_op op = ops[rand_below(&r, ARRAY_LEN(ops))];
        const char *path = deep(first, draw_depth(&r));
        const char *to = deep(second, draw_depth(&r));
        int rc = with_flags(&m, op, path, to, GFS_TREE);
        moved += op == GFS_OP_RENAME && rc == 0;
        refused += op == GFS_OP_RENAME && rc == ERR_INVALID;
        for (const struct inode *n = names_next(m.names.root, m.names.root); n;
             n = names_next(m.names.root, n))
            ck_assert(names_can_be_found(n));
    }
    ck_assert_uint_gt(moved, 10);
    ck_assert_uint_gt(refused, 10);
    catalog_close(&m);
}

END_TEST

TEST_MAIN("depth",
          test_renamed,
          test_copied,
          test_discarded,
          test_everything_is_found)
