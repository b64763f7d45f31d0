/* Asking the nodes of a cluster, and printing what they say. */
#include "cli/cluster_status.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "cli/cli.h"
#include "cli/cluster_nodes.h"
#include "cli/server_host.h"
#include "cli/table_printer.h"
#include "gfs-lite/gfs.h"

/* Who does not answer in time is told as such. */
#define STATUS_US UINT64_C(1000000)
#define FILES_US  UINT64_C(2000000)

/* --- asking ------------------------------------------------------------- */

/* What is asked of a node. */
struct question {
    const struct cluster_node *node;
    pid_t pid; /* 0: it does not run. */
    struct buf answer;
    struct err err;
    int rc;
};

/* What is asked of all, and of the file system. */
struct inquiry {
    struct cli *cli;
    const struct cluster *cluster;
    struct rpc_security *security;
    struct question questions[CLUSTER_NODES_MAX];
    size_t count;
    bool about_files;
    struct gfs_status files; /* Valid without an error. */
    struct arena arena;      /* Of files. */
    struct err files_err;
    struct err err; /* There could be no question. */
};

struct asking {
    struct inquiry *inquiry;
    struct question *question;
};

static int take_text(struct slice body, struct buf *out, struct err *err)
{
    struct codec_reader r = codec_reader_make(body);
    uint32_t count = codec_get_array(&r);
    struct slice text = codec_get_bytes(&r);
    if (count < 1 || r.bad)
        return err_set(err, ERR_CORRUPT, "malformed status");
    buf_append_slice(out, text);
    return 0;
}

static void ask(void *arg)
{
    const struct asking *a = arg;
    struct question *q = a->question;
    struct rpc_call_options call = {.timeout_us = STATUS_US};
    struct rpc_channel_options o = {.security = a->inquiry->security};
    struct rpc_channel *c = rpc_channel_new(q->node->address, &o);
    struct buf body = BUF_INIT;
    q->rc = rpc_call(c, SERVER_STATUS, &call, SLICE_EMPTY, SLICE_EMPTY, &body,
                     NULL, &q->err);
    if (q->rc == 0)
        q->rc = take_text(buf_slice(&body), &q->answer, &q->err);
    rpc_channel_free(c);
    buf_close(&body);
}

static void ask_files(void *arg)
{
    struct inquiry *i = arg;
    struct gfs_options o = {.security = i->security,
                            .name = "quarry cluster",
                            .timeout_us = FILES_US};
    struct buf all = BUF_INIT;
    struct fs *fs;
    int rc;
    for (size_t n = 0; n < i->cluster->node_count; n++)
        buf_printf(&all, "%s%s", n ? "," : "", i->cluster->nodes[n].address);
    o.namenodes = buf_cstr(&all);
    rc = fs_gfs_open(i->cli->world, &o, &fs, &i->files_err);
    if (rc == 0) {
        (void)!gfs_get_status(fs, &i->arena, &i->files, &i->files_err);
        fs_close(fs);
    }
    buf_close(&all);
}

/* On a fiber: all at once. */
static void ask_all(void *arg)
{
    struct inquiry *i = arg;
    struct asking askings[CLUSTER_NODES_MAX];
    struct fiber *fibers[CLUSTER_NODES_MAX + 1];
    size_t count = 0;
    char *key = cluster_key_path(i->cluster);
    int rc = rpc_security_key(i->cli->world, "quarry", "quarry cluster", key,
                              &i->security, &i->err);
    mem_free(key);
    if (rc)
        return;
    for (size_t n = 0; n < i->count; n++) {
        askings[n] = (struct asking){i, &i->questions[n]};
        if (i->questions[n].pid)
            fibers[count++] =
                fiber_start(loop_self(), "status", ask, &askings[n]);
    }
    if (i->about_files)
        fibers[count++] = fiber_start(loop_self(), "files", ask_files, i);
    while (count)
        fiber_join(fibers[--count]);
    rpc_security_free(i->security);
}

static int inquire(struct inquiry *i, struct err *err)
{
    struct loop *l;
    int rc = loop_new(i->cli->world, "cluster", &l, err);
    if (rc)
        return rc;
    loop_start(l);
    loop_call(l, "status", ask_all, i);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    return err_copy(err, &i->err);
}

int cluster_ask_node(struct cli *cli,
                     const struct cluster *c,
                     const struct cluster_node *n,
                     struct buf *out,
                     struct err *err)
{
    struct inquiry *i = mem_zalloc(1, sizeof(*i));
    struct question *q = &i->questions[0];
    int rc;
    i->cli = cli;
    i->cluster = c;
    i->count = 1;
    *q = (struct question){.node = n, .pid = 1};
    rc = inquire(i, err);
    if (rc == 0)
        rc = q->rc ? err_copy(err, &q->err) : 0;
    if (rc == 0)
        buf_append_slice(out, buf_slice(&q->answer));
    buf_close(&q->answer);
    mem_free(i);
    return rc;
}

/* --- the text of a status ------------------------------------------------ */

/* The next "key=value" or "key="value with spaces"" of @line. */
static bool
next_pair(struct slice *line, struct slice *key, struct slice *value)
{
    size_t end = slice_find_byte(*line, '=');
    char stop = ' ';
    if (end == line->len)
        return false;
    *key = slice_trim(slice_sub(*line, 0, end));
    *line = slice_sub(*line, end + 1, line->len);
    if (line->len && line->data[0] == '"') {
        stop = '"';
        *line = slice_sub(*line, 1, line->len);
    }
    end = slice_find_byte(*line, stop);
    *value = slice_sub(*line, 0, end);
    *line = slice_sub(*line, end + 1, line->len);
    return true;
}

static struct slice value_of(struct slice line, const char *wanted)
{
    struct slice key;
    struct slice value;
    while (next_pair(&line, &key, &value))
        if (slice_eq_str(key, wanted))
            return value;
    return SLICE_EMPTY;
}

/* All but what has a column of its own. */
static void put_detail(struct slice line, struct buf *out)
{
    struct slice key;
    struct slice value;
    while (next_pair(&line, &key, &value))
        if (!slice_eq_str(key, "health"))
            buf_printf(out, "%s%.*s=%.*s", out->len ? " " : "", SLICE_ARG(key),
                       SLICE_ARG(value));
}

/* --- rows ---------------------------------------------------------------- */

static const struct sheet_column columns[] = {
    {"node", SHEET_TEXT},  {"address", SHEET_TEXT}, {"pid", SHEET_NUMBER},
    {"state", SHEET_TEXT}, {"up", SHEET_TEXT},      {"role", SHEET_TEXT},
    {"leads", SHEET_TEXT}, {"health", SHEET_TEXT},  {"detail", SHEET_TEXT}};

static void
add_head(struct sheet *s, const struct question *q, const char *state)
{
    sheet_add_str(s, q->node->name);
    sheet_add_str(s, q->node->address);
    if (q->pid)
        sheet_addf(s, "%ld", (long)q->pid);
    else
        sheet_add_str(s, "");
    sheet_add_str(s, state);
}

/* A node without roles to tell of. */
static void add_bare(struct sheet *s,
                     const struct question *q,
                     const char *state,
                     struct slice up,
                     const char *why)
{
    add_head(s, q, state);
    sheet_add(s, up);
    sheet_add_str(s, "");
    sheet_add_str(s, "");
    sheet_add_str(s, "");
    sheet_add_str(s, why);
}

/* "ROLE: key=value …" */
static void add_role(struct sheet *s,
                     const struct question *q,
                     struct slice up,
                     struct slice line)
{
    size_t colon = slice_find_byte(line, ':');
    struct slice pairs = slice_sub(line, colon + 1, line.len);
    struct buf detail = BUF_INIT;
    add_head(s, q, "up");
    sheet_add(s, up);
    sheet_add(s, slice_sub(line, 0, colon));
    sheet_add_str(s, slice_eq_str(value_of(pairs, "state"), "leader") ? "yes"
                                                                      : "");
    sheet_add(s, value_of(pairs, "health"));
    put_detail(pairs, &detail);
    sheet_add(s, buf_slice(&detail));
    buf_close(&detail);
}

/* The first line is about the process, the others about a role each. */
static void add_answer(struct sheet *s, const struct question *q)
{
    struct slice rest = buf_slice(&q->answer);
    size_t end = slice_find_byte(rest, '\n');
    struct slice up = value_of(slice_sub(rest, 0, end), "up");
    rest = slice_sub(rest, end + 1, rest.len);
    if (rest.len == 0)
        add_bare(s, q, "up", up, "");
    while (rest.len) {
        end = slice_find_byte(rest, '\n');
        add_role(s, q, up, slice_sub(rest, 0, end));
        rest = slice_sub(rest, end + 1, rest.len);
    }
}

static void put_files_health(const struct gfs_status *f, struct buf *out)
{
    if (f->safe_mode)
        buf_append_str(out, "safe mode");
    else if (f->lost)
        buf_printf(out, "lost chunks: %llu", (unsigned long long)f->lost);
    else if (f->unreported)
        buf_printf(out, "chunks not yet reported: %llu",
                   (unsigned long long)f->unreported);
    else if (f->under_replicated)
        buf_printf(out, "chunks with too few copies: %llu",
                   (unsigned long long)f->under_replicated);
    else
        buf_append_str(out, "well");
}

static void put_files_detail(const struct gfs_status *f, struct buf *out)
{
    uint64_t capacity = 0;
    uint64_t space = 0;
    size_t alive = 0;
    for (size_t i = 0; i < f->server_count; i++) {
        if (!f->servers[i].alive)
            continue;
        alive++;
        capacity += f->servers[i].capacity_bytes;
        space += f->servers[i].free_bytes;
    }
    buf_printf(out,
               "chunk-servers=%zu of=%zu capacity=%llu free=%llu files=%llu "
               "directories=%llu chunks=%llu bytes=%llu lost=%llu "
               "unreported=%llu under-replicated=%llu copying=%llu",
               alive, f->server_count, (unsigned long long)capacity,
               (unsigned long long)space, (unsigned long long)f->files,
               (unsigned long long)f->directories,
               (unsigned long long)f->chunks, (unsigned long long)f->bytes,
               (unsigned long long)f->lost, (unsigned long long)f->unreported,
               (unsigned long long)f->under_replicated,
               (unsigned long long)f->copying);
}

/* The file system is that of all nodes together. */
static void add_files(struct sheet *s, const struct inquiry *i)
{
    bool known = i->files_err.code == 0;
    struct buf health = BUF_INIT;
    struct buf detail = BUF_INIT;
    if (known) {
        put_files_health(&i->files, &health);
        put_files_detail(&i->files, &detail);
    }
    sheet_add_str(s, "all");
    sheet_add_str(s, "");
    sheet_add_str(s, "");
    sheet_add_str(s, known ? "up" : "silent");
    sheet_add_str(s, "");
    sheet_add_str(s, "files");
    sheet_add_str(s, "");
    sheet_add(s, buf_slice(&health));
    sheet_add(s, known ? buf_slice(&detail) : slice_str(i->files_err.text));
    buf_close(&health);
    buf_close(&detail);
}

static void print(const struct inquiry *i)
{
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t n = 0; n < i->count; n++) {
        const struct question *q = &i->questions[n];
        if (q->pid == 0)
            add_bare(&s, q, "down", SLICE_EMPTY, "");
        else if (q->rc)
            add_bare(&s, q, "silent", SLICE_EMPTY, q->err.text);
        else
            add_answer(&s, q);
    }
    if (i->about_files)
        add_files(&s, i);
    sheet_print(&s, i->cli->format);
    sheet_close(&s);
}

int cluster_print_status(struct cli *cli,
                         const struct cluster *c,
                         struct err *err)
{
    struct inquiry *i = mem_zalloc(1, sizeof(*i));
    int rc;
    i->cli = cli;
    i->cluster = c;
    i->count = c->node_count;
    arena_init(&i->arena);
    for (size_t n = 0; n < i->count; n++) {
        i->questions[n] = (struct question){
            .node = &c->nodes[n], .pid = cluster_node_pid(&c->nodes[n])};
        i->about_files |= i->questions[n].pid != 0;
    }
    rc = inquire(i, err);
    if (rc == 0)
        print(i);
    for (size_t n = 0; n < i->count; n++)
        buf_close(&i->questions[n].answer);
    arena_close(&i->arena);
    mem_free(i);
    return rc;
}
