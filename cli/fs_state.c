/* quarry fs: the state of the cluster's file system (df, fsck, leave): chunk
 * servers with figures of the namenode, files with too few copies, and taking a
 * chunk server out of service.
 */
#include <stdio.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "cli/cmd_fs.h"
#include "cli/table_printer.h"

/* --- df ------------------------------------------------------------------ */

static const char *state_name(const struct gfs_server_status *s)
{
    switch (s->state) {
    case GFS_SERVER_LEAVING: return s->alive ? "leaving" : "left";
    case GFS_SERVER_GONE: return "gone";
    case GFS_SERVER_IN_SERVICE: break;
    }
    return s->alive ? "up" : "down";
}

static void print_servers(const struct gfs_status *st, enum cli_format format)
{
    static const struct sheet_column columns[] = {
        {"server", SHEET_TEXT},  {"state", SHEET_TEXT},
        {"rack", SHEET_TEXT},    {"capacity", SHEET_BYTES},
        {"free", SHEET_BYTES},   {"chunks", SHEET_NUMBER},
        {"heard_ago", SHEET_AGE}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < st->server_count; i++) {
        const struct gfs_server_status *v = &st->servers[i];
        sheet_add(&s, v->server.address);
        sheet_add_str(&s, state_name(v));
        sheet_add(&s, v->server.rack);
        sheet_add_u64(&s, v->capacity_bytes);
        sheet_add_u64(&s, v->free_bytes);
        sheet_add_u64(&s, v->chunk_count);
        if (v->heard_us_ago)
            sheet_add_u64(&s, v->heard_us_ago);
        else
            sheet_add_str(&s, "");
    }
    sheet_print(&s, format);
    sheet_close(&s);
}

static int fs_state_df(const struct fs_command *c, struct err *err)
{
    struct gfs_status st;
    struct arena a;
    int rc = fs_command_needs_cluster(c, err);
    if (rc)
        return rc;
    arena_init(&a);
    rc = gfs_get_status(c->fs, &a, &st, err);
    if (!rc) {
        print_servers(&st, c->cli->format);
        cli_remark(
            c->cli,
            "%llu files, %llu directories, %llu chunks; %llu lost, %llu not "
            "yet reported, %llu with too few copies, %llu being copied%s",
            (unsigned long long)st.files, (unsigned long long)st.directories,
            (unsigned long long)st.chunks, (unsigned long long)st.lost,
            (unsigned long long)st.unreported,
            (unsigned long long)st.under_replicated,
            (unsigned long long)st.copying,
            st.safe_mode ? "; safe mode: waiting for chunk servers" : "");
    }
    arena_close(&a);
    return rc;
}

int fs_run_df(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_state_df, err);
}

/* --- fsck ---------------------------------------------------------------- */

struct fsck {
    struct sheet sheet;
    uint64_t files;
    uint64_t lost;
    uint64_t thin;
    uint64_t unreported;
};

static void take_findings(struct fsck *k, const struct gfs_findings *f)
{
    k->files += f->files_checked;
    for (size_t i = 0; i < f->count; i++) {
        const struct gfs_finding *g = &f->findings[i];
        if (g->copies)
            k->thin++;
        else if (f->early)
            k->unreported++;
        else
            k->lost++;
        sheet_addf(&k->sheet, "/%.*s", SLICE_ARG(g->path));
        sheet_add_u64(&k->sheet, g->chunk);
        sheet_add_u64(&k->sheet, g->wanted);
        sheet_add_u64(&k->sheet, g->copies);
    }
}

static int
check_all(const struct fs_command *c, struct fsck *k, struct err *err)
{
    struct gfs_findings f = {.more = true};
    struct buf after = BUF_INIT;
    int rc = 0;
    while (!rc && f.more) {
        struct arena a;
        arena_init(&a);
        rc = gfs_check(c->fs, fs_command_path(c, 0), buf_slice(&after), &a, &f,
                       err);
        if (!rc) {
            take_findings(k, &f);
            buf_clear(&after);
            buf_append_slice(&after, f.after);
        }
        arena_close(&a);
    }
    buf_close(&after);
    return rc;
}

/* A namenode that leads since a moment ago does not know yet. */
static int too_early(uint64_t unreported, struct err *err)
{
    err_set(err, ERR_UNAVAILABLE, "copies of %llu chunks are not yet reported",
            (unsigned long long)unreported);
    err_hint(err, "chunk servers are still telling a new namenode what they "
                  "hold: ask again in some seconds");
    return ERR_UNAVAILABLE;
}

static int fs_state_fsck(const struct fs_command *c, struct err *err)
{
    static const struct sheet_column columns[] = {{"path", SHEET_TEXT},
                                                  {"chunk", SHEET_NUMBER},
                                                  {"wanted", SHEET_NUMBER},
                                                  {"copies", SHEET_NUMBER}};
    struct fsck k = {.files = 0};
    int rc = fs_command_needs_cluster(c, err);
    if (rc)
        return rc;
    sheet_init(&k.sheet, columns, ARRAY_LEN(columns));
    rc = check_all(c, &k, err);
    if (!rc && sheet_row_count(&k.sheet))
        sheet_print(&k.sheet, c->cli->format);
    sheet_close(&k.sheet);
    if (rc)
        return rc;
    cli_remark(c->cli,
               "%llu files: %llu chunks lost, %llu with too few copies, %llu "
               "not yet reported",
               (unsigned long long)k.files, (unsigned long long)k.lost,
               (unsigned long long)k.thin, (unsigned long long)k.unreported);
    if (k.lost)
        return err_set(err, ERR_CORRUPT,
                       "%llu chunks have no copy that can be reached",
                       (unsigned long long)k.lost);
    return k.unreported ? too_early(k.unreported, err) : 0;
}

int fs_run_fsck(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_state_fsck, err);
}

/* --- leave --------------------------------------------------------------- */

static int fs_state_leave(const struct fs_command *c, struct err *err)
{
    enum gfs_server_state state = GFS_SERVER_LEAVING;
    int rc = fs_command_needs_cluster(c, err);
    if (args_flag(c->args, "back"))
        state = GFS_SERVER_IN_SERVICE;
    else if (args_flag(c->args, "gone"))
        state = GFS_SERVER_GONE;
    return rc ? rc : gfs_set_server_state(c->fs, c->args->words[0], state, err);
}

int fs_run_leave(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_state_leave, err);
}
