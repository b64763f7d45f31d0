/* quarry replication: send, in the foreground, and verify.
 *
 * `send` keeps its place in a file of the user:
 *
 *     copy TOKEN ROW      rows up to ROW are copied; changes follow from TOKEN
 *     changes TOKEN       changes follow from TOKEN
 *
 * with token and row in base64.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/base64.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_replication.h"
#include "cli/cli.h"
#include "cli/cmd_replication_streams.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/replication_options.h"
#include "cli/text_form.h"

/* Places are written this often while changes come. */
#define PLACE_US ((uint64_t)500000)

/* --- places -------------------------------------------------------------- */

struct place {
    const char *path; /* NULL: none is kept. */
    bool copying;
    struct buf token;
    struct buf row; /* Empty: none is copied. */
};

static void place_close(struct place *p)
{
    buf_close(&p->token);
    buf_close(&p->row);
}

static int place_write(const struct place *p, struct err *err)
{
    struct buf text = BUF_INIT;
    struct output_file f;
    int rc;
    if (!p->path)
        return 0;
    rc = output_file_open(&f, p->path, err);
    if (rc)
        return rc;
    buf_append_str(&text, p->copying ? "copy " : "changes ");
    base64_put(&text, buf_slice(&p->token));
    if (p->copying && p->row.len) {
        buf_append_byte(&text, ' ');
        base64_put(&text, buf_slice(&p->row));
    }
    buf_append_byte(&text, '\n');
    if (fwrite(text.data, 1, text.len, f.out) != text.len || fflush(f.out) ||
        fsync(fileno(f.out)))
        rc = err_set(err, ERR_IO, "%s: the place was not written", p->path);
    rc = output_file_close(&f, rc, err);
    buf_close(&text);
    return rc;
}

static bool parse_place(struct place *p, struct slice text)
{
    struct slice word = text;
    size_t space = slice_find_byte(text, ' ');
    if (text.len == 0 || text.data[text.len - 1] != '\n')
        return false;
    text.len--;
    word.len = MIN_OF(space, text.len);
    p->copying = slice_eq_str(word, "copy");
    if ((!p->copying && !slice_eq_str(word, "changes")) || space >= text.len)
        return false;
    text = slice_sub(text, space + 1, text.len);
    space = slice_find_byte(text, ' ');
    word = slice_sub(text, 0, MIN_OF(space, text.len));
    if (!base64_decode(word, &p->token) || p->token.len == 0)
        return false;
    return space >= text.len ||
           (p->copying &&
            base64_decode(slice_sub(text, space + 1, text.len), &p->row));
}

/* *@found: there was one. */
static int place_read(struct place *p, bool *found, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = 0;
    *found = false;
    if (p->path && access(p->path, F_OK) == 0) {
        rc = cli_read_file(p->path, &text, err);
        if (rc == 0 && !parse_place(p, buf_slice(&text)))
            rc = err_set(err, ERR_CORRUPT,
                         "%s: this is no place of `replication send`", p->path);
        *found = rc == 0;
    }
    buf_close(&text);
    return rc;
}

/* --- send ---------------------------------------------------------------- */

struct sending {
    struct cli *cli;
    struct quarry *q;
    struct quarry_table *table;
    struct quarry_replication *stream;
    struct place place;
    bool follow;
    uint64_t rows;    /* Copied, */
    uint64_t changes; /* and changes read. */
    uint64_t bytes;
    uint64_t kept_ns; /* The place was written, */
    uint64_t unkept;  /* and the number of changes sent since. */
};

static int copied_up_to(void *arg,
                        struct slice row,
                        uint64_t rows,
                        uint64_t bytes,
                        struct err *err)
{
    struct sending *s = arg;
    s->rows += rows;
    s->bytes += bytes;
    buf_clear(&s->place.row);
    buf_append_slice(&s->place.row, row);
    return place_write(&s->place, err);
}

static int send_copy(struct sending *s, struct err *err)
{
    struct slice row = buf_slice(&s->place.row);
    int rc = quarry_replication_copy(s->stream, row.len ? &row : NULL,
                                     copied_up_to, s, err);
    if (rc)
        return rc;
    s->place.copying = false;
    return place_write(&s->place, err);
}

static int keep_place(void *arg,
                      const struct quarry_replication_place *at,
                      struct err *err)
{
    struct sending *s = arg;
    uint64_t now_ns = world_mono_ns(s->cli->world);
    s->changes += at->changes;
    s->bytes += at->bytes;
    s->unkept += at->changes;
    if (!at->last && (s->unkept == 0 || now_ns - s->kept_ns < PLACE_US * 1000))
        return 0;
    s->kept_ns = now_ns;
    s->unkept = 0;
    buf_clear(&s->place.token);
    buf_append_slice(&s->place.token, at->token);
    return place_write(&s->place, err);
}

static int send_changes(struct sending *s, struct err *err)
{
    const struct quarry_changes_options o = {
        .token = buf_slice(&s->place.token), .batch_bytes = (size_t)2 << 20};
    struct quarry_changes *c = NULL;
    int rc = quarry_changes_open(s->table, &o, &c, err);
    if (rc == 0)
        rc = quarry_replication_follow(s->stream, c, s->follow, keep_place, s,
                                       err);
    quarry_changes_close(c);
    return rc;
}

static int send_all(struct sending *s, bool copy, struct err *err)
{
    bool found;
    int rc = place_read(&s->place, &found, err);
    if (rc == 0 && !found) {
        rc = quarry_replication_begin(s->stream, &s->place.token, err);
        s->place.copying = copy;
        if (rc == 0)
            rc = place_write(&s->place, err);
    }
    if (rc == 0 && s->place.copying)
        rc = send_copy(s, err);
    return rc ? rc : send_changes(s, err);
}

static void report_sent(const struct sending *s)
{
    cli_remark(s->cli, "%llu rows copied, %llu changes read, %llu bytes sent",
               (unsigned long long)s->rows, (unsigned long long)s->changes,
               (unsigned long long)s->bytes);
}

static int open_stream(struct cli *cli,
                       const struct replication_args *a,
                       bool create,
                       struct sending *s,
                       struct err *err)
{
    int rc = cli_table(cli, a->spec.table, CLI_EXISTING, &s->table, err);
    bool made = false;
    if (rc == 0)
        rc = cli_store(cli, CLI_EXISTING, &s->q, err);
    if (rc == 0 && create)
        rc = quarry_replication_create_target(s->q, &a->spec, &made, err);
    if (made)
        cli_remark(cli, "table %s is made at the other end",
                   a->spec.to_table ? a->spec.to_table : a->spec.table);
    if (rc == 0)
        rc = quarry_replication_open(s->q, &a->spec, &s->stream, err);
    if (rc == 0)
        quarry_replication_cancel(s->stream, interrupt_watch());
    return rc;
}

static void sending_close(struct sending *s)
{
    quarry_replication_close(s->stream);
    if (s->table)
        quarry_table_close(s->table);
    place_close(&s->place);
}

static int run_send(struct cli *cli, const struct args *args, struct err *err)
{
    struct sending s = {.cli = cli, .follow = args_flag(args, "follow")};
    struct replication_args a;
    int rc = replication_args_parse(cli, args, args->words[0], &a, err);
    s.place.path = args_value(args, "place");
    if (rc == 0)
        rc = open_stream(cli, &a, args_flag(args, "create"), &s, err);
    if (rc == 0)
        rc = send_all(&s, !args_flag(args, "no-copy"), err);
    if (rc == ERR_CANCELLED && interrupted())
        rc = 0;
    if (rc == 0)
        report_sent(&s);
    sending_close(&s);
    replication_args_close(&a);
    return rc;
}

/* --- verify -------------------------------------------------------------- */

static void print_difference(void *arg,
                             const struct quarry_replication_difference *d)
{
    struct buf line = BUF_INIT;
    (void)arg;
    buf_append_byte(&line, '{');
    json_put_bytes(&line, "row", d->row);
    buf_printf(&line,
               ", \"missing\": %llu, \"extra\": %llu, \"unequal\": %llu}",
               (unsigned long long)d->missing, (unsigned long long)d->extra,
               (unsigned long long)d->unequal);
    puts(buf_cstr(&line));
    buf_close(&line);
}

static int run_verify(struct cli *cli, const struct args *args, struct err *err)
{
    struct sending s = {.cli = cli};
    struct quarry_replication_verify v = {.repair = args_flag(args, "repair"),
                                          .found = print_difference,
                                          .cancel = interrupt_watch()};
    struct replication_args a;
    int rc = replication_args_parse(cli, args, args->words[0], &a, err);
    if (rc == 0)
        rc = open_stream(cli, &a, false, &s, err);
    if (rc == 0)
        rc = quarry_replication_verify(s.stream, &v, err);
    if (rc == 0)
        cli_remark(cli,
                   "%llu rows compared by %llu digests, %llu of them read, "
                   "%llu differ, %llu mended",
                   (unsigned long long)v.rows, (unsigned long long)v.pieces,
                   (unsigned long long)v.read, (unsigned long long)v.different,
                   (unsigned long long)v.repaired);
    if (rc == 0 && v.different > v.repaired)
        rc = err_set(err, ERR_CORRUPT, "%llu row%s",
                     (unsigned long long)v.different,
                     v.different == 1 ? " differs" : "s differ");
    sending_close(&s);
    replication_args_close(&a);
    return rc;
}

static const struct option send_options[] = {
    {"place", 0, "FILE",
     "keep the place in FILE, and continue there; without,\n"
     "each run begins with a copy"},
    {"follow", 'F', NULL, "wait for changes, until it is interrupted"},
    {"create", 0, NULL, "make the table at the other end, if there is none"},
    {"no-copy", 0, NULL, "begin with the changes, without a copy"},
    {NULL, 0, NULL, NULL},
};

static const struct option verify_options[] = {
    {"repair", 0, NULL, "make rows that differ as they are here"},
    {NULL, 0, NULL, NULL},
};

const struct command replication_commands[] = {
    {.name = "replication create",
     .arguments = "NAME TABLE [--to TARGET] [--to-table TABLE] [OPTION…]",
     .summary = "Send a table's changes elsewhere, for as long as there are",
     .details = "The servers of a cluster run it, whichever is there; for a\n"
                "directory, `quarry follow run` does. `quarry follow show\n"
                "replication/NAME` tells all about it.",
     .examples =
         "quarry replication create west webtable --to west:7650 --to-key "
         "/etc/quarry/west.key\n"
         "quarry replication create copy webtable --to file:/mnt/copy --create",
     .words_min = 2,
     .words_max = 2,
     .options = {replication_options, replication_create_options},
     .run = replication_run_create},
    {.name = "replication list",
     .arguments = "",
     .summary = "List streams: where to, how far behind, what failed",
     .examples = "quarry replication list",
     .run = replication_run_list},
    {.name = "replication pause",
     .arguments = "NAME",
     .summary = "Stop a stream until it is resumed; it loses nothing",
     .examples = "quarry replication pause west",
     .words_min = 1,
     .words_max = 1,
     .run = replication_run_pause},
    {.name = "replication resume",
     .arguments = "NAME",
     .summary = "Let a paused stream continue where it stopped",
     .examples = "quarry replication resume west",
     .words_min = 1,
     .words_max = 1,
     .run = replication_run_resume},
    {.name = "replication drop",
     .arguments = "NAME",
     .summary = "Drop a stream with its place; what it sent stays",
     .examples = "quarry replication drop west",
     .words_min = 1,
     .words_max = 1,
     .run = replication_run_drop},
    {.name = "replication send",
     .arguments = "TABLE [--to TARGET] [--to-table TABLE] [OPTION…]",
     .summary = "Copy a table elsewhere, and send its changes after it",
     .details = "The table keeps its changes (`quarry table alter TABLE "
                "--changes 7d`).\n"
                "Tables that are written to at several ends become equal: see\n"
                "docs/replication.md. For that, each end keeps changes.",
     .examples = "quarry replication send web --to file:/mnt/copy --create "
                 "--place web.place\n"
                 "quarry replication send web --to db1:7650 --to-key db.key "
                 "--follow\n"
                 "quarry replication send pages --to-table texts --family "
                 "contents=text",
     .words_min = 1,
     .words_max = 1,
     .options = {replication_options, send_options},
     .run = run_send},
    {.name = "replication verify",
     .arguments = "TABLE [--to TARGET] [--to-table TABLE] [OPTION…]",
     .summary = "Compare a table with the one that its changes are sent to",
     .details = "A line of JSON for each row that differs: how many cells the\n"
                "other end lacks, has beyond, or has with other values. A row\n"
                "counts if it differs three times within a second, since\n"
                "changes may be on their way.",
     .examples = "quarry replication verify webtable --to file:/mnt/copy\n"
                 "quarry replication verify webtable --to db1:7650 --repair",
     .words_min = 1,
     .words_max = 1,
     .options = {replication_options, verify_options},
     .run = run_verify},
    {.name = NULL},
};
