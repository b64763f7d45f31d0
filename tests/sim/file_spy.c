/* Checks who may use files, and who may not. */
#include "tests/sim/file_spy.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/rpc/security.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/namenode_command.h"
#include "tests/sim/rights_model.h"

#define TURN_US  (3 * SECOND_US)
#define GRACE_US SECOND_US
/* A proof is of no use any more so long after it was made: two turns and the
 * grace, and what clocks that drift make of them. */
#define PROOF_US   (2 * TURN_US + GRACE_US + SECOND_US)
#define CALL_US    (10 * SECOND_US)
#define SERVICE_US (60 * SECOND_US)

enum {
    READERS = 2,
    PATH_BYTES = 48,
    TEXT_BYTES_MAX = 1000
};

/* A state that the namenodes may have had at some time in [from_us, until_us].
 */
struct spy_version {
    struct rights_state state;
    uint64_t from_us;
    uint64_t until_us;
};

struct spy_tree {
    struct spy_tree *next;
    unsigned number;
    struct spy_version *versions; /* Owned. */
    size_t count;
};

struct file_spy {
    struct storm *storm;
    struct sim_cell *cell;
    struct cluster_roles *roles; /* Owned, as those: */
    struct rpc_security *names[RIGHTS_PRINCIPALS];
    struct spy_tree *trees; /* All there ever were. Owned. */
    struct spy_tree *tree;  /* The one that is changed and read, or NULL. */
    unsigned tree_count;
    uint64_t answer_count;
};

/* --- principals ---------------------------------------------------------- */

static bool is_administrator(void *ctx, struct slice principal)
{
    (void)ctx;
    return slice_eq_str(principal, rights_names[RIGHTS_ADMINISTRATOR]);
}

static void put_roles(void *ctx, struct slice principal, struct buf *out)
{
    (void)ctx;
    if (slice_eq_str(principal, rights_names[RIGHTS_BOB]))
        buf_append_str(out, RIGHTS_ROLE);
}

static const struct rights_lists lists = {is_administrator, put_roles};

struct file_spy *file_spy_new(struct storm *s, struct sim_cell *cell)
{
    struct file_spy *f = mem_zalloc(1, sizeof(*f));
    f->storm = s;
    f->cell = cell;
    f->roles = cluster_roles_new(cell->security, NULL);
    for (unsigned i = 0; i < RIGHTS_PRINCIPALS; i++)
        f->names[i] = rpc_security_none("cell", rights_names[i]);
    cell->namenode_options.rights = (struct rights_rules){
        .roles = f->roles, .names_are_proved = true, .lists = &lists};
    cell->namenode_options.proof_turn_us = TURN_US;
    cell->chunk_options.roles = f->roles;
    cell->chunk_options.names_are_proved = true;
    cell->chunk_options.proof_grace_us = GRACE_US;
    return f;
}

static void free_trees(struct file_spy *f)
{
    while (f->trees) {
        struct spy_tree *t = f->trees;
        f->trees = t->next;
        mem_free(t->versions);
        mem_free(t);
    }
}

void file_spy_free(struct file_spy *f)
{
    free_trees(f);
    for (unsigned i = 0; i < RIGHTS_PRINCIPALS; i++)
        rpc_security_free(f->names[i]);
    cluster_roles_free(f->roles);
    mem_free(f);
}

uint64_t file_spy_answers(const struct file_spy *f)
{
    return f->answer_count;
}

/* The file system as @security's principal sees it. Owned. */
static struct fs *open_as(struct file_spy *f,
                          struct world *w,
                          const struct rpc_security *security)
{
    const struct gfs_options o = {.namenodes = f->cell->fs_addresses,
                                  .machine = sim_machine_name(w),
                                  .name = "spy",
                                  .security = security,
                                  .replication = SIM_CELL_REPLICATION,
                                  .renew_us = SECOND_US,
                                  .timeout_us = CALL_US};
    struct fs *fs;
    struct err err = ERR_INIT;
    if (fs_gfs_open(w, &o, &fs, &err))
        PANIC("%s", err.text);
    return fs;
}

/* --- trees --------------------------------------------------------------- */

static void put_path(const struct spy_tree *t,
                     char directory,
                     int file,
                     char out[PATH_BYTES])
{
    int n = snprintf(out, PATH_BYTES, "spy/%u/%c", t->number, directory);
    if (file >= 0)
        snprintf(out + n, PATH_BYTES - (size_t)n, "/%d", file);
}

/* Where node @n is in @s. */
static void put_node_path(const struct spy_tree *t,
                          const struct rights_state *s,
                          unsigned n,
                          char out[PATH_BYTES])
{
    unsigned directory = n < RIGHTS_FIRST_FILE ? n : rights_parent(s, n);
    if (n == RIGHTS_TOP) {
        snprintf(out, PATH_BYTES, "spy/%u", t->number);
        return;
    }
    put_path(t, s->directory_name[directory - RIGHTS_FIRST_DIRECTORY],
             n < RIGHTS_FIRST_FILE ? -1 : (int)(n - RIGHTS_FIRST_FILE), out);
}

static void put_text(unsigned n, struct buf *out)
{
    buf_printf(out, "%u is the number of this file, and nobody's business\n",
               n);
}

/* The node whose bytes these are. */
static unsigned node_of(struct slice text)
{
    for (unsigned n = RIGHTS_FIRST_FILE; n < RIGHTS_NODES; n++) {
        struct buf b = BUF_INIT;
        bool same;
        put_text(n, &b);
        same = slice_eq(text, buf_slice(&b));
        buf_close(&b);
        if (same)
            return n;
    }
    storm_fail("spy: \"%.*s\" is in no file", SLICE_ARG(text));
}

static struct spy_version *newest(const struct spy_tree *t)
{
    return &t->versions[t->count - 1];
}

static void add_version(struct spy_tree *t, const struct rights_state *s)
{
    t->versions =
        mem_realloc(t->versions, (t->count + 1) * sizeof(*t->versions));
    t->versions[t->count++] =
        (struct spy_version){*s, storm_now_us(), UINT64_MAX};
}

static int make_node(struct fs *fs,
                     const struct spy_tree *t,
                     const struct rights_state *s,
                     unsigned n,
                     struct err *err)
{
    struct buf text = BUF_INIT;
    char path[PATH_BYTES];
    int rc;
    put_node_path(t, s, n, path);
    put_text(n, &text);
    rc = n < RIGHTS_FIRST_FILE ? fs_mkdirs(fs, path, err)
                               : fs_replace(fs, path, buf_slice(&text), err);
    if (rc == 0)
        rc = gfs_set_mode(fs, path, s->nodes[n].mode, err);
    if (rc == 0)
        rc = gfs_set_owner(fs, path, slice_str(rights_names[s->nodes[n].owner]),
                           err);
    buf_close(&text);
    return rc;
}

/* Another tree, which nobody has changed yet. @fs is the cluster's own. */
static int make_tree(struct file_spy *f, struct fs *fs, struct err *err)
{
    struct spy_tree *t = mem_zalloc(1, sizeof(*t));
    struct rights_state s;
    int rc = 0;
    rights_state_init(&s);
    t->number = f->tree_count++;
    t->next = f->trees;
    f->trees = t;
    for (unsigned n = 0; n < RIGHTS_NODES && rc == 0; n++)
        rc = make_node(fs, t, &s, n, err);
    if (rc)
        return rc;
    add_version(t, &s);
    f->tree = t;
    return 0;
}

/* --- changing ------------------------------------------------------------ */

enum change_kind {
    CHANGE_MODE,
    CHANGE_OWNER,
    CHANGE_GRANT,
    CHANGE_REVOKE,
    CHANGE_RENAME,
    CHANGE_KINDS
};

struct change {
    enum change_kind kind;
    bool by_cluster;
    enum rights_principal by;
    unsigned node;
    uint8_t mode;
    uint8_t rights;
    enum rights_principal owner;
    enum rights_grantee to;
};

static uint8_t draw_mode(struct rand_gen *r, bool directory)
{
    static const uint8_t directories[] = {077, 077, 075, 071, 074, 070, 007, 0};
    static const uint8_t files[] = {066, 064, 064, 060, 006, 0};
    return directory ? directories[rand_below(r, ARRAY_LEN(directories))]
                     : files[rand_below(r, ARRAY_LEN(files))];
}

static struct change draw_change(struct rand_gen *r)
{
    struct change c = {.kind = (enum change_kind)rand_below(r, CHANGE_KINDS),
                       .by_cluster = rand_one_in(r, 2),
                       .by = rand_one_in(r, 4) ? RIGHTS_BOB : RIGHTS_ANN,
                       .node = (unsigned)rand_below(r, RIGHTS_NODES),
                       .rights = (uint8_t)(1 + rand_below(r, 3)),
                       .owner = rand_one_in(r, 3) ? RIGHTS_BOB : RIGHTS_ANN,
                       .to =
                           (enum rights_grantee)rand_below(r, RIGHTS_GRANTEES)};
    c.mode = draw_mode(r, c.node < RIGHTS_FIRST_FILE);
    if (c.kind != CHANGE_RENAME)
        return c;
    /* Moving what is others' is told in storms of names. */
    c.by_cluster = true;
    c.node = MAX_OF(c.node, RIGHTS_FIRST_DIRECTORY);
    return c;
}

static bool has_letter(const struct rights_state *s, char c)
{
    bool has = false;
    for (unsigned d = 0; d < RIGHTS_DIRECTORIES; d++)
        has |= s->directory_name[d] == c;
    return has;
}

/* A letter that no directory has. */
static char free_letter(const struct rights_state *s)
{
    char c = 'a';
    while (has_letter(s, c))
        c++;
    return c;
}

static void apply_change(const struct change *c, struct rights_state *s)
{
    struct rights_node *n = &s->nodes[c->node];
    unsigned giver = c->by_cluster ? RIGHTS_BY_ADMINISTRATOR : RIGHTS_BY_OWNER;
    switch (c->kind) {
    case CHANGE_MODE: n->mode = c->mode; break;
    case CHANGE_OWNER: rights_set_owner(s, c->node, c->owner); break;
    case CHANGE_GRANT: n->grants[c->to][giver] |= c->rights; break;
    case CHANGE_REVOKE:
        for (unsigned g = 0; g < RIGHTS_GIVERS; g++)
            n->grants[c->to][g] &= (uint8_t)~c->rights;
        break;
    case CHANGE_RENAME:
        if (c->node < RIGHTS_FIRST_FILE) {
            s->directory_name[c->node - RIGHTS_FIRST_DIRECTORY] =
                free_letter(s);
        } else {
            uint8_t *in = &s->directory_of[c->node - RIGHTS_FIRST_FILE];
            *in = (uint8_t)((*in + 1) % RIGHTS_DIRECTORIES);
        }
        break;
    case CHANGE_KINDS: break;
    }
}

static int call_change(const struct change *c,
                       struct fs *fs,
                       const struct spy_tree *t,
                       const struct rights_state *before,
                       const struct rights_state *after,
                       struct err *err)
{
    struct slice to = slice_str(rights_grantee_names[c->to]);
    char path[PATH_BYTES];
    char other[PATH_BYTES];
    put_node_path(t, before, c->node, path);
    put_node_path(t, after, c->node, other);
    switch (c->kind) {
    case CHANGE_MODE: return gfs_set_mode(fs, path, c->mode, err);
    case CHANGE_OWNER:
        return gfs_set_owner(fs, path, slice_str(rights_names[c->owner]), err);
    case CHANGE_GRANT:
    case CHANGE_REVOKE:
        return gfs_grant(fs, path, to, c->rights, c->kind == CHANGE_REVOKE,
                         err);
    case CHANGE_RENAME: return fs_rename(fs, path, other, err);
    case CHANGE_KINDS: break;
    }
    return ERR_INVALID;
}

/* Change the tree, if that is allowed. A change whose outcome is not known is
 * the tree's last: it may be made at any time from then on. */
static void
change_tree(struct file_spy *f, struct fs *fs, const struct change *c)
{
    struct spy_tree *t = f->tree;
    const struct rights_state before = newest(t)->state;
    struct rights_state after = before;
    bool allowed = c->by_cluster || rights_may_set(&before, c->by, c->node);
    struct err err = ERR_INIT;
    int rc;
    apply_change(c, &after);
    if (allowed)
        add_version(t, &after);
    rc = call_change(c, fs, t, &before, &after, &err);
    f->storm->call_count++;
    STORM_CHECK(allowed || rc, "spy: %s changes node %u of tree %u (%d)",
                rights_names[c->by], c->node, t->number, (int)c->kind);
    /* One that was given away meanwhile by a call that came twice. */
    STORM_CHECK(rc != ERR_DENIED || !allowed || c->kind == CHANGE_OWNER,
                "spy: the owner of node %u of tree %u is refused: %s", c->node,
                t->number, err.text);
    if (!allowed)
        return;
    if (rc)
        f->tree = NULL;
    else
        t->versions[t->count - 2].until_us = storm_now_us();
}

static void run_changer(struct storm_client *c)
{
    struct file_spy *f = c->ctx;
    struct fs *cluster = open_as(f, c->world, f->cell->security);
    struct fs *ann = open_as(f, c->world, f->names[RIGHTS_ANN]);
    struct fs *bob = open_as(f, c->world, f->names[RIGHTS_BOB]);
    while (storm_goes_on(c)) {
        if (!f->tree) {
            (void)!make_tree(f, cluster, NULL);
        } else {
            struct change k = draw_change(&c->rand);
            struct fs *own = k.by == RIGHTS_ANN ? ann : bob;
            change_tree(f, k.by_cluster ? cluster : own, &k);
        }
        storm_sleep_us(rand_below(&c->rand, SECOND_US / 3));
    }
    fs_close(bob);
    fs_close(ann);
    fs_close(cluster);
}

/* --- judging ------------------------------------------------------------- */

/* A call from from_us to now, and what it asked. */
struct look {
    struct file_spy *spy;
    struct spy_tree *tree;
    enum rights_principal who;
    enum rights_question question;
    char directory;
    int file; /* -1: the directory. */
    uint64_t from_us;
    char path[PATH_BYTES];
};

static bool overlaps(const struct spy_version *v, uint64_t from, uint64_t until)
{
    return v->from_us <= until && v->until_us >= from;
}

/* Could he not read one of @nodes at some time of @l, wherever it was then? A
 * file that was found at the path, and moved to where he may not go before its
 * bytes were read, is refused. */
static bool lost_one_of(const struct look *l, unsigned nodes)
{
    for (size_t i = 0; i < l->tree->count; i++) {
        const struct spy_version *v = &l->tree->versions[i];
        if (!overlaps(v, l->from_us, storm_now_us()))
            continue;
        for (unsigned n = RIGHTS_FIRST_FILE; n < RIGHTS_NODES; n++)
            if (nodes & (1u << n) && !rights_may_read(&v->state, l->who, n))
                return true;
    }
    return false;
}

/* The answers that some state of the time gives; *nodes has a bit for each
 * node that one answers with. */
static unsigned possible_answers(const struct look *l, unsigned *nodes)
{
    uint64_t now = storm_now_us();
    unsigned answers = 0;
    *nodes = 0;
    for (size_t i = 0; i < l->tree->count; i++) {
        const struct spy_version *v = &l->tree->versions[i];
        enum rights_answer a;
        unsigned node;
        if (!overlaps(v, l->from_us, now))
            continue;
        a = rights_ask(&v->state, l->who, l->question, l->directory, l->file,
                       &node);
        answers |= (unsigned)a;
        if (a == RIGHTS_YES)
            *nodes |= 1u << node;
    }
    if (l->question == RIGHTS_ASK_READ && lost_one_of(l, *nodes))
        answers |= RIGHTS_DENIED;
    return answers;
}

/* The call ended with @rc and, if it read, with the bytes of @node. */
static void judge(const struct look *l, int rc, unsigned node)
{
    static const char *const verbs[] = {"looks at", "reads", "lists"};
    const char *who = rights_names[l->who];
    const char *verb = verbs[l->question];
    unsigned nodes;
    unsigned answers = possible_answers(l, &nodes);
    l->spy->storm->call_count++;
    STORM_CHECK(rc != 0 || (answers & RIGHTS_YES),
                "spy: %s %s /%s, which was denied all the time", who, verb,
                l->path);
    STORM_CHECK(rc != 0 || !node || (nodes & (1u << node)),
                "spy: %s %s /%s and gets node %u", who, verb, l->path, node);
    STORM_CHECK(rc != ERR_NOTFOUND || (answers & RIGHTS_ABSENT),
                "spy: %s %s /%s and learns that it is not there", who, verb,
                l->path);
    STORM_CHECK(rc != ERR_DENIED || (answers & RIGHTS_DENIED),
                "spy: %s %s /%s, which was allowed all the time: refused", who,
                verb, l->path);
    l->spy->answer_count +=
        rc == 0 || rc == ERR_NOTFOUND || rc == ERR_DENIED ? 1 : 0;
}

/* --- looking ------------------------------------------------------------- */

static struct look
draw_look(struct file_spy *f, struct rand_gen *r, enum rights_principal who)
{
    struct look l = {.spy = f,
                     .tree = f->tree,
                     .who = who,
                     .question = (enum rights_question)rand_below(r, 3),
                     .directory = (char)('a' + rand_below(r, 3)),
                     .file = (int)rand_below(r, RIGHTS_FILES)};
    if (l.question == RIGHTS_ASK_LIST)
        l.file = -1;
    put_path(l.tree, l.directory, l.file, l.path);
    l.from_us = storm_now_us();
    return l;
}

static void look_once(const struct look *l, struct fs *fs)
{
    struct buf text = BUF_INIT;
    struct gfs_stat stat;
    char **names;
    size_t count;
    unsigned node = 0;
    int rc = 0;
    switch (l->question) {
    case RIGHTS_ASK_STAT: rc = gfs_stat(fs, l->path, &stat, NULL); break;
    case RIGHTS_ASK_READ:
        rc = fs_read_all(fs, l->path, TEXT_BYTES_MAX, &text, NULL);
        if (rc == 0)
            node = node_of(buf_slice(&text));
        break;
    case RIGHTS_ASK_LIST:
        rc = fs_list(fs, l->path, &names, &count, NULL);
        if (rc == 0)
            fs_names_free(names, count);
        break;
    }
    judge(l, rc, node);
    buf_close(&text);
}

/* --- a file that stays open ---------------------------------------------- */

struct held_file {
    struct file_spy *spy;
    struct spy_tree *tree;
    enum rights_principal who;
    unsigned node;
    struct fs_reader *reader; /* NULL: none is open. */
};

static int read_held(struct held_file *h, unsigned *node, struct err *err)
{
    char text[TEXT_BYTES_MAX];
    size_t got = 0;
    int rc = fs_read_at(h->reader, 0, text, sizeof(text), &got, err);
    if (rc == 0)
        *node = node_of(slice_make(text, got));
    return rc;
}

static void close_held(struct held_file *h)
{
    fs_reader_close(h->reader);
    h->reader = NULL;
}

static void open_held(struct held_file *h, struct look *l, struct fs *fs)
{
    int rc;
    *h = (struct held_file){.spy = l->spy, .tree = l->tree, .who = l->who};
    rc = fs_open(fs, l->path, &h->reader, NULL);
    if (rc)
        h->reader = NULL;
    else
        rc = read_held(h, &h->node, NULL);
    judge(l, rc, h->node);
    if (rc && h->reader)
        close_held(h);
}

/* Could he read it at some time in [@from, now]? *@denied: could he not? */
static bool
could_read(const struct held_file *h, uint64_t from, uint64_t now, bool *denied)
{
    bool allowed = false;
    *denied = false;
    for (size_t i = 0; i < h->tree->count; i++) {
        const struct spy_version *v = &h->tree->versions[i];
        bool may;
        if (!overlaps(v, from, now))
            continue;
        may = rights_may_read(&v->state, h->who, h->node);
        allowed |= may;
        *denied |= !may;
    }
    return allowed;
}

static void look_at_held(struct held_file *h)
{
    uint64_t from = storm_now_us();
    uint64_t proved = from - MIN_OF(from, PROOF_US);
    unsigned node = h->node;
    bool denied;
    int rc = read_held(h, &node, NULL);
    STORM_CHECK(node == h->node, "spy: an open file becomes another");
    STORM_CHECK(rc != 0 || could_read(h, proved, storm_now_us(), &denied),
                "spy: %s reads node %u of tree %u on, long after the right to "
                "it was taken away",
                rights_names[h->who], h->node, h->tree->number);
    (void)could_read(h, from, storm_now_us(), &denied);
    STORM_CHECK(rc != ERR_DENIED || denied,
                "spy: %s is refused node %u of tree %u, which he has open",
                rights_names[h->who], h->node, h->tree->number);
    h->spy->storm->call_count++;
    h->spy->answer_count += rc == 0 || rc == ERR_DENIED ? 1 : 0;
    if (rc)
        close_held(h);
}

/* --- readers ------------------------------------------------------------- */

/* Nobody takes a right to it away. */
static void write_own(struct storm_client *c, struct fs *fs)
{
    struct err err = ERR_INIT;
    char path[PATH_BYTES];
    int rc;
    snprintf(path, sizeof(path), "own/%u", c->number);
    rc = fs_replace(fs, path, SLICE_LIT("ann's"), &err);
    STORM_CHECK(rc != ERR_DENIED, "spy: ann is refused a file of her own: %s",
                err.text);
    c->storm->call_count++;
}

static void look_somehow(struct file_spy *f,
                         struct rand_gen *r,
                         struct fs *const *eyes,
                         struct held_file *h)
{
    enum rights_principal who =
        (enum rights_principal)rand_below(r, RIGHTS_PRINCIPALS);
    struct look l = draw_look(f, r, who);
    if (h->reader && rand_one_in(r, 20))
        close_held(h);
    else if (h->reader && rand_one_in(r, 3))
        look_at_held(h);
    else if (!h->reader && l.question == RIGHTS_ASK_READ)
        open_held(h, &l, eyes[who]);
    else
        look_once(&l, eyes[who]);
}

static void run_reader(struct storm_client *c)
{
    struct file_spy *f = c->ctx;
    struct held_file held = {.reader = NULL};
    struct fs *eyes[RIGHTS_PRINCIPALS];
    for (unsigned i = 0; i < RIGHTS_PRINCIPALS; i++)
        eyes[i] = open_as(f, c->world, f->names[i]);
    while (storm_goes_on(c)) {
        if (f->tree)
            look_somehow(f, &c->rand, eyes, &held);
        if (rand_one_in(&c->rand, 10))
            write_own(c, eyes[RIGHTS_ANN]);
        storm_sleep_us(rand_below(&c->rand, SECOND_US / 5));
    }
    if (held.reader)
        close_held(&held);
    for (unsigned i = 0; i < RIGHTS_PRINCIPALS; i++)
        fs_close(eyes[i]);
}

void file_spy_start(struct file_spy *f)
{
    storm_add_client(f->storm, "changer", run_changer, f);
    for (unsigned i = 0; i < READERS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "eye%u", i % 100);
        storm_add_client(f->storm, name, run_reader, f);
    }
}

/* --- after --------------------------------------------------------------- */

static void make_last_tree(struct file_spy *f, struct fs *cluster)
{
    uint64_t until = storm_now_us() + SERVICE_US;
    struct err err = ERR_INIT;
    f->tree = NULL;
    while (!f->tree && make_tree(f, cluster, &err))
        STORM_CHECK(storm_now_us() < until, "spy: %s, long after the faults",
                    err.text);
}

/* Nobody changes it but this. */
static void open_last(struct file_spy *f,
                      enum rights_principal who,
                      struct fs *fs,
                      struct held_file *out)
{
    struct look l = {.spy = f,
                     .tree = f->tree,
                     .who = who,
                     .question = RIGHTS_ASK_READ,
                     .directory = 'a',
                     .from_us = storm_now_us()};
    put_path(l.tree, l.directory, l.file, l.path);
    open_held(out, &l, fs);
    STORM_CHECK(out->reader, "spy: %s cannot open /%s, long after the faults",
                rights_names[who], l.path);
}

static void read_last(struct held_file *h, int expected)
{
    struct err err = ERR_INIT;
    unsigned node;
    int rc = read_held(h, &node, &err);
    STORM_CHECK(rc == expected, "spy: %s reads node %u, open for long: %s%s%s",
                rights_names[h->who], h->node, err_name(rc), rc ? ": " : "",
                rc ? err.text : "");
    close_held(h);
}

void file_spy_finish(struct file_spy *f)
{
    const struct change close_it = {.kind = CHANGE_MODE,
                                    .by_cluster = true,
                                    .node = RIGHTS_FIRST_FILE,
                                    .mode = GFS_OWNER_READ | GFS_OWNER_WRITE};
    struct world *w = sim_director(f->cell->sim);
    struct fs *cluster = open_as(f, w, f->cell->security);
    struct fs *ann = open_as(f, w, f->names[RIGHTS_ANN]);
    struct fs *eve = open_as(f, w, f->names[RIGHTS_EVE]);
    struct held_file kept;
    struct held_file lost;
    make_last_tree(f, cluster);
    open_last(f, RIGHTS_ANN, ann, &kept);
    open_last(f, RIGHTS_EVE, eve, &lost);
    change_tree(f, cluster, &close_it);
    STORM_CHECK(f->tree, "spy: a mode cannot be set, long after the faults");
    storm_sleep_us(PROOF_US);
    read_last(&lost, ERR_DENIED);
    read_last(&kept, 0);
    fs_close(eve);
    fs_close(ann);
    fs_close(cluster);
}
