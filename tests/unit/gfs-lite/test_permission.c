/* Owners, modes and grants, against a model that has nothing but a list of
 * paths: random principals do random things, and what is refused is what the
 * model refuses. */
#include "gfs-lite/namenode/namespace.h"
#include "gfs-lite/namenode/permission.h"
#include "tests/unit/gfs-lite/catalog_run.h"

#define STEPS       4000
#define ENTRIES_MAX 512
#define GIVEN_MAX   64
#define MASK        GFS_OTHERS_WRITE

/* --- the model ----------------------------------------------------------- */

struct given {
    const char *who;
    unsigned rights;
    bool by_owner;
};

struct entry {
    char path[64];
    bool is_directory;
    const char *owner;
    unsigned mode;
    struct given given[GIVEN_MAX];
    unsigned given_count;
};

static struct entry entries[ENTRIES_MAX];
static unsigned entry_count;

/* Of each principal one role, and nobody's name is that of a role. */
static const char *const people[] = {"ann", "bob", "cat"};
static const char *const roles[] = {"red", "red", ""};
static const char *const receivers[] = {"ann", "bob", "role:red", "*", "red"};

static struct entry *find(const char *path)
{
    for (unsigned i = 0; i < entry_count; i++)
        if (strcmp(entries[i].path, path) == 0)
            return &entries[i];
    return NULL;
}

static bool up(char *path)
{
    char *slash = strrchr(path, '/');
    if (path[0] == '\0')
        return false;
    if (slash)
        *slash = '\0';
    else
        path[0] = '\0';
    return true;
}

static bool is_below(const char *path, const char *top)
{
    size_t n = strlen(top);
    return n == 0 ||
           (strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

static bool is_meant(const struct given *g, unsigned who)
{
    if (strncmp(g->who, "role:", 5) == 0)
        return strcmp(g->who + 5, roles[who]) == 0;
    return strcmp(g->who, "*") == 0 || strcmp(g->who, people[who]) == 0;
}

static unsigned granted(const struct entry *e, unsigned who)
{
    char path[64];
    unsigned rights = 0;
    strcpy(path, e->path);
    do {
        const struct entry *at = find(path);
        for (unsigned i = 0; i < at->given_count; i++)
            if (is_meant(&at->given[i], who) &&
                (!at->given[i].by_owner || strcmp(at->owner, e->owner) == 0))
                rights |= at->given[i].rights;
    } while (up(path));
    return ((rights & 1) ? 4u : 0u) | ((rights & 2) ? 2u : 0u) |
           (rights && e->is_directory ? 1u : 0u);
}

static bool is_owner(const struct entry *e, unsigned who)
{
    return strcmp(e->owner, people[who]) == 0;
}

static unsigned has(const struct entry *e, unsigned who)
{
    unsigned mode = is_owner(e, who) ? e->mode >> 3 : e->mode;
    return (mode & 7) | granted(e, who);
}

static bool reaches(const struct entry *e, unsigned who)
{
    char path[64];
    strcpy(path, e->path);
    while (up(path)) {
        if (granted(find(path), who))
            return true;
        if (!(has(find(path), who) & 1))
            return false;
    }
    return true;
}

static bool may(const struct entry *e, unsigned who, unsigned bits)
{
    unsigned by_grant = granted(e, who);
    if ((has(e, who) & bits) != bits)
        return false;
    return (by_grant && (by_grant & bits) == bits) || reaches(e, who);
}

static struct entry *parent_of(const struct entry *e)
{
    char path[64];
    strcpy(path, e->path);
    return up(path) ? find(path) : NULL;
}

static bool is_kept(const struct entry *e, unsigned who)
{
    const struct entry *dir = parent_of(e);
    return dir && (dir->mode & 64) && !is_owner(dir, who) && !is_owner(e, who);
}

static bool may_leave(const struct entry *e, unsigned who)
{
    const struct entry *dir = parent_of(e);
    return dir && may(dir, who, 3) && !is_kept(e, who);
}

/* The last of @path that is there. */
static struct entry *last_of(const char *path)
{
    char at[64];
    strcpy(at, path);
    while (!find(at))
        up(at);
    return find(at);
}

static bool may_place(const char *path, unsigned who, bool replaces)
{
    const struct entry *e = last_of(path);
    bool whole = strcmp(e->path, path) == 0;
    if (!whole && e->is_directory)
        return may(e, who, 3);
    return replaces ? may_leave(e, who) : may(e, who, 0);
}

static bool is_tree_allowed(const char *top,
                            unsigned who,
                            unsigned file,
                            unsigned directory)
{
    for (unsigned i = 0; i < entry_count; i++) {
        const struct entry *e = &entries[i];
        bool empty = true;
        if (!is_below(e->path, top))
            continue;
        for (unsigned j = 0; j < entry_count; j++)
            empty &= j == i || !is_below(entries[j].path, e->path);
        if ((directory & 2) && is_kept(e, who))
            return false;
        if (e->is_directory && empty)
            continue;
        if ((e->is_directory ? directory : file) & ~has(e, who))
            return false;
    }
    return true;
}

/* Does a grant hold at @to that does not hold at @from? */
static bool is_shown(const char *from, const char *to)
{
    char at[64];
    strcpy(at, last_of(to)->path);
    while (!is_below(last_of(from)->path, at)) {
        if (find(at)->given_count)
            return true;
        if (!up(at))
            break;
    }
    return false;
}

static bool is_there_allowed(const struct gfs_command *c,
                             const struct entry *e,
                             unsigned who,
                             const char *to)
{
    bool moved = c->op == GFS_OP_RENAME || c->op == GFS_OP_SNAPSHOT;
    if (moved && is_shown(e->path, to) && !is_tree_allowed(e->path, who, 4, 5))
        return false;
    if (c->op == GFS_OP_REMOVE && (c->flags & GFS_TREE) &&
        !is_tree_allowed(e->path, who, 0, 7))
        return false;
    switch ((int)c->op) {
    case GFS_OP_APPEND_OPEN: return may(e, who, 2);
    case GFS_OP_REMOVE: return may_leave(e, who);
    case GFS_OP_RENAME: return may_leave(e, who) && may_place(to, who, true);
    case GFS_OP_SNAPSHOT:
        return may(e, who, e->is_directory ? 5 : 4) &&
               may_place(to, who, false);
    default: return is_owner(e, who) && reaches(e, who);
    }
}

static bool is_allowed(const struct gfs_command *c,
                       unsigned who,
                       const char *path,
                       const char *to)
{
    const struct entry *e = last_of(path);
    bool whole = strcmp(e->path, path) == 0;
    bool moved = c->op == GFS_OP_RENAME || c->op == GFS_OP_SNAPSHOT;
    if (c->op == GFS_OP_MKDIRS)
        return may_place(path, who, false);
    if (c->op == GFS_OP_CREATE)
        return may_place(path, who, !(c->flags & GFS_EXCLUSIVE)) &&
               (!whole || (c->flags & GFS_EXCLUSIVE) || may(e, who, 2));
    if (whole)
        return is_there_allowed(c, e, who, to);
    return may(e, who, e->is_directory ? 1 : 0) &&
           (!moved || may_place(to, who, c->op == GFS_OP_RENAME));
}

/* --- what is done changes the model -------------------------------------- */

static void add(const char *path, bool is_directory, unsigned who)
{
    struct entry *e = &entries[entry_count++];
    ck_assert_uint_lt(entry_count, ENTRIES_MAX);
    *e = (struct entry){.is_directory = is_directory, .owner = people[who]};
    strcpy(e->path, path);
    e->mode = (is_directory ? 077u : 066u) & ~(unsigned)MASK;
}

static void add_above(const char *path, unsigned who)
{
    char above[64];
    strcpy(above, path);
    if (!up(above) || find(above))
        return;
    add_above(above, who);
    add(above, true, who);
}

static void drop(const char *top)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < entry_count; i++)
        if (!is_below(entries[i].path, top))
            entries[kept++] = entries[i];
    entry_count = kept;
}

static void copy(const char *from, const char *to, bool moves)
{
    unsigned before = entry_count;
    static struct entry was[ENTRIES_MAX];
    memcpy(was, entries, sizeof(was));
    if (moves && strcmp(from, to) == 0)
        return;
    if (moves) {
        drop(to);
        drop(from);
    }
    for (unsigned i = 0; i < before; i++) {
        struct entry *e;
        if (!is_below(was[i].path, from))
            continue;
        ck_assert_uint_lt(entry_count + 1, ENTRIES_MAX);
        e = &entries[entry_count++];
        *e = was[i];
        ck_assert_uint_lt(strlen(to) + strlen(was[i].path), 64);
        snprintf(e->path, sizeof(e->path), "%s%.60s", to,
                 was[i].path + strlen(from));
    }
}

static void give(struct entry *e, const struct gfs_command *c, const char *who)
{
    unsigned kept = 0;
    bool added = false;
    for (unsigned i = 0; i < e->given_count; i++) {
        struct given *g = &e->given[i];
        bool is_it = strcmp(g->who, who) == 0;
        if (is_it && (c->flags & GFS_REVOKE))
            g->rights &= ~(unsigned)c->length;
        if (is_it && !(c->flags & GFS_REVOKE) && g->by_owner) {
            g->rights |= (unsigned)c->length;
            added = true;
        }
        if (g->rights)
            e->given[kept++] = *g;
    }
    e->given_count = kept;
    if (!added && !(c->flags & GFS_REVOKE))
        e->given[e->given_count++] =
            (struct given){who, (unsigned)c->length, true};
}

static void apply(const struct gfs_command *c,
                  unsigned who,
                  const char *path,
                  const char *to,
                  const char *text)
{
    struct entry *e = find(path);
    switch ((int)c->op) {
    case GFS_OP_MKDIRS:
        add_above(path, who);
        if (!e)
            add(path, true, who);
        break;
    case GFS_OP_CREATE:
        if (e)
            drop(path);
        add_above(path, who);
        add(path, false, who);
        break;
    case GFS_OP_REMOVE:
        if (path[0])
            drop(path);
        break;
    case GFS_OP_RENAME: copy(path, to, true); break;
    case GFS_OP_SNAPSHOT:
        add_above(to, who);
        copy(path, to, false);
        break;
    case GFS_OP_SET_MODE: e->mode = c->mode; break;
    case GFS_OP_SET_OWNER:
        if (strcmp(e->owner, text) != 0)
            e->given_count = 0;
        e->owner = text;
        break;
    case GFS_OP_GRANT: give(e, c, text); break;
    default: break;
    }
}

/* --- the real one -------------------------------------------------------- */

/* As the leader does: the tree first, then the command. */
static int run_checked(struct catalog *m, struct gfs_command c)
{
    const struct permission_caller who = {c.caller, c.roles};
    unsigned file = 0;
    unsigned directory = 0;
    struct inode *top;
    if (permission_needs_tree(&m->names, &c, &file, &directory) &&
        names_find(&m->names, c.path, &top, NULL) == 0)
        for (const struct inode *n = top; n; n = names_next(top, n))
            if (permission_check_inode(&m->names, &who, n, file, directory,
                                       NULL))
                return ERR_DENIED;
    return run(m, c).code;
}

/* Snapshots that are doomed take their names with the next step. */
static void settle(struct catalog *m)
{
    while (names_has_doomed(&m->names))
        run(m, (struct gfs_command){.op = GFS_OP_REAP});
}

static void check_same(const struct catalog *m)
{
    unsigned count = 0;
    for (const struct inode *n = m->names.root; n;
         n = names_next(m->names.root, n)) {
        struct buf path = BUF_INIT;
        const struct entry *e;
        inode_put_path(n, &path);
        e = find(buf_cstr(&path));
        ck_assert_msg(e != NULL, "/%s", buf_cstr(&path));
        ck_assert_msg(e->mode == n->mode, "/%s", buf_cstr(&path));
        ck_assert_msg(
            slice_eq_str(owners_name(&m->names.owners, n->owner), e->owner),
            "/%s", buf_cstr(&path));
        buf_close(&path);
        count++;
    }
    ck_assert_uint_eq(count, entry_count);
}

static struct gfs_command draw(struct rand_gen *r, const char **text)
{
    static const enum gfs_op ops[] = {
        GFS_OP_MKDIRS,   GFS_OP_MKDIRS,   GFS_OP_CREATE,   GFS_OP_CREATE,
        GFS_OP_CREATE,   GFS_OP_REMOVE,   GFS_OP_RENAME,   GFS_OP_RENAME,
        GFS_OP_SNAPSHOT, GFS_OP_SET_MODE, GFS_OP_SET_MODE, GFS_OP_SET_MODE,
        GFS_OP_GRANT,    GFS_OP_GRANT,    GFS_OP_SET_OWNER};
    struct gfs_command c = {.op = ops[rand_below(r, ARRAY_LEN(ops))],
                            .mode = MASK};
    *text = "";
    if (c.op == GFS_OP_CREATE && rand_below(r, 2))
        c.flags |= GFS_EXCLUSIVE;
    if (c.op == GFS_OP_REMOVE && rand_below(r, 3))
        c.flags |= GFS_TREE;
    if (c.op == GFS_OP_SET_MODE)
        c.mode = (uint32_t)rand_below(r, 64);
    if (c.op == GFS_OP_SET_OWNER)
        *text = people[rand_below(r, ARRAY_LEN(people))];
    if (c.op == GFS_OP_GRANT) {
        *text = receivers[rand_below(r, ARRAY_LEN(receivers))];
        c.length = 1 + rand_below(r, 3);
        c.flags |= rand_below(r, 3) ? 0 : GFS_REVOKE;
    }
    c.text = slice_str(*text);
    return c;
}

/* A snapshot that fails may have made directories above its name. */
static void add_made(const struct catalog *m, const char *to, unsigned who)
{
    char above[64];
    struct inode *n;
    strcpy(above, to);
    if (up(above) && names_find(&m->names, slice_str(above), &n, NULL) == 0)
        add_above(to, who);
}

/* The owner of the root, and whether it is sticky, differ. */
static void begin_at(struct catalog *m, uint64_t seed)
{
    begin(m);
    run(m, (struct gfs_command){.op = GFS_OP_SET_MODE,
                                .mode = seed % 2 ? GFS_MODE_ROOT
                                                 : GFS_MODE_DIRECTORY});
    run(m, (struct gfs_command){.op = GFS_OP_SET_OWNER,
                                .text = slice_str(people[seed % 3])});
    entries[0] =
        (struct entry){.is_directory = true,
                       .owner = people[seed % 3],
                       .mode = seed % 2 ? GFS_MODE_ROOT : GFS_MODE_DIRECTORY};
    entry_count = 1;
}

static void compare(uint64_t seed, unsigned counts[2])
{
    struct catalog m;
    struct rand_gen r;
    rand_init(&r, seed);
    begin_at(&m, seed);
    for (int i = 0; i < STEPS; i++) {
        char path[64];
        char to[64];
        const char *text;
        struct gfs_command c = draw(&r, &text);
        unsigned who = (unsigned)rand_below(&r, ARRAY_LEN(people));
        bool allowed;
        int rc;
        draw_path(&r, path);
        draw_path(&r, to);
        if (entry_count > ENTRIES_MAX / 4) {
            c = (struct gfs_command){.op = GFS_OP_REMOVE, .flags = GFS_TREE};
            path[1] = '\0';
        }
        c.path = slice_str(path);
        if (c.op == GFS_OP_RENAME || c.op == GFS_OP_SNAPSHOT)
            c.to = slice_str(to);
        c.caller = slice_str(people[who]);
        c.roles = slice_str(roles[who]);
        c.flags |= GFS_CHECKED;
        allowed = is_allowed(&c, who, path, to);
        rc = run_checked(&m, c);
        ck_assert_msg(allowed == (rc != ERR_DENIED),
                      "seed %llu, step %d: %s of %s (%s, %s) by %s: %d",
                      (unsigned long long)seed, i, gfs_op_name(c.op), path, to,
                      text, people[who], rc);
        counts[allowed]++;
        if (rc == 0)
            apply(&c, who, path, to, text);
        else if (c.op == GFS_OP_SNAPSHOT)
            add_made(&m, to, who);
        settle(&m);
        if (entry_count > ENTRIES_MAX / 4 && rc) /* Nobody may: start again. */
            break;
    }
    check_same(&m);
    check_image(&m);
    check_same(&m);
    names_check(&m.names);
    catalog_close(&m);
}

START_TEST(test_model)
{
    unsigned counts[2] = {0, 0};
    for (uint64_t seed = 0; seed < 12; seed++)
        compare(test_seed() + seed, counts);
    /* Both happen often. */
    ck_assert_uint_gt(counts[0], 1000);
    ck_assert_uint_gt(counts[1], 1000);
}

END_TEST

/* --- cases --------------------------------------------------------------- */

static int as(struct catalog *m, const char *who, struct gfs_command c)
{
    c.caller = slice_str(who);
    c.flags |= GFS_CHECKED;
    if (c.op != GFS_OP_SET_MODE)
        c.mode = MASK;
    return run_checked(m, c);
}

static int
on(struct catalog *m, const char *who, enum gfs_op op, const char *path)
{
    return as(m, who, (struct gfs_command){.op = op, .path = slice_str(path)});
}

static int may_read(struct catalog *m, const char *who, const char *path)
{
    const struct permission_caller caller = {slice_str(who), SLICE_EMPTY};
    struct inode *n;
    int rc = names_find(&m->names, slice_str(path), &n, NULL);
    return rc ? rc
              : permission_check(&m->names, &caller, n, PERMISSION_READ, NULL);
}

/* A user who may move a file of another's below a directory of his own does not
 * get to read it by granting himself rights there. */
START_TEST(test_moving_shows_nothing)
{
    struct catalog m;
    begin(&m);
    ck_assert_int_eq(on(&m, "ann", GFS_OP_MKDIRS, "shared"), 0);
    ck_assert_int_eq(as(&m, "ann",
                        (struct gfs_command){.op = GFS_OP_SET_MODE,
                                             .path = SLICE_LIT("shared"),
                                             .mode = GFS_MODE_DIRECTORY}),
                     0);
    ck_assert_int_eq(on(&m, "ann", GFS_OP_CREATE, "shared/secret"), 0);
    ck_assert_int_eq(as(&m, "ann",
                        (struct gfs_command){.op = GFS_OP_SET_MODE,
                                             .path = SLICE_LIT("shared/secret"),
                                             .mode = 060}),
                     0);
    ck_assert_int_eq(may_read(&m, "bob", "shared/secret"), ERR_DENIED);
    ck_assert_int_eq(on(&m, "bob", GFS_OP_MKDIRS, "trap"), 0);
    ck_assert_int_eq(as(&m, "bob",
                        (struct gfs_command){.op = GFS_OP_RENAME,
                                             .path = SLICE_LIT("shared/secret"),
                                             .to = SLICE_LIT("trap/secret")}),
                     0);
    ck_assert_int_eq(as(&m, "bob",
                        (struct gfs_command){.op = GFS_OP_GRANT,
                                             .path = SLICE_LIT("trap"),
                                             .text = SLICE_LIT("bob"),
                                             .length = GFS_GRANT_READ}),
                     0);
    ck_assert_int_eq(may_read(&m, "bob", "trap/secret"), ERR_DENIED);
    /* One of an administrator holds for all: then nobody moves there what he
     * may not read. */
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_MKDIRS,
                                                  .path = SLICE_LIT("open")})
                         .code,
                     0);
    ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_GRANT,
                                                  .path = SLICE_LIT("open"),
                                                  .text = SLICE_LIT("*"),
                                                  .length = 3})
                         .code,
                     0);
    ck_assert_int_eq(as(&m, "bob",
                        (struct gfs_command){.op = GFS_OP_RENAME,
                                             .path = SLICE_LIT("trap"),
                                             .to = SLICE_LIT("open/trap")}),
                     ERR_DENIED);
    ck_assert_int_eq(as(&m, "ann",
                        (struct gfs_command){.op = GFS_OP_CREATE,
                                             .path = SLICE_LIT("open/f")}),
                     0);
    ck_assert_int_eq(may_read(&m, "bob", "open/f"), 0);
    catalog_close(&m);
}

END_TEST

/* A name is no role, and "*" no name. */
START_TEST(test_names_are_not_roles)
{
    struct catalog m;
    begin(&m);
    ck_assert_int_eq(on(&m, "ann", GFS_OP_CREATE, "f"), 0);
    ck_assert_int_eq(as(&m, "ann",
                        (struct gfs_command){.op = GFS_OP_SET_MODE,
                                             .path = SLICE_LIT("f"),
                                             .mode = 060}),
                     0);
    ck_assert_int_eq(as(&m, "ann",
                        (struct gfs_command){.op = GFS_OP_GRANT,
                                             .path = SLICE_LIT("f"),
                                             .text = SLICE_LIT("role:red"),
                                             .length = GFS_GRANT_READ}),
                     0);
    ck_assert_int_eq(may_read(&m, "role:red", "f"), ERR_DENIED);
    ck_assert_int_eq(may_read(&m, "red", "f"), ERR_DENIED);
    ck_assert_int_eq(as(&m, "ann",
                        (struct gfs_command){.op = GFS_OP_GRANT,
                                             .path = SLICE_LIT("f"),
                                             .text = SLICE_LIT("a,b"),
                                             .length = GFS_GRANT_READ}),
                     ERR_INVALID);
    catalog_close(&m);
}

END_TEST

/* Numbers of owners that are gone are given again, and names stay right. */
START_TEST(test_owners_come_and_go)
{
    struct catalog m;
    begin(&m);
    ck_assert_int_eq(on(&m, "keeper", GFS_OP_CREATE, "kept"), 0);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        ck_assert_int_eq(on(&m, name, GFS_OP_CREATE, "f"), 0);
        ck_assert_int_eq(run(&m, (struct gfs_command){.op = GFS_OP_REMOVE,
                                                      .path = SLICE_LIT("f")})
                             .code,
                         0);
    }
    ck_assert_uint_lt(m.names.owners.count, 8);
    check_image(&m);
    ck_assert_int_eq(may_read(&m, "keeper", "kept"), 0);
    catalog_close(&m);
}

END_TEST

TEST_MAIN("permission",
          test_model,
          test_moving_shows_nothing,
          test_names_are_not_roles,
          test_owners_come_and_go)
