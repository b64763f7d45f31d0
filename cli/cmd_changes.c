/* quarry changes: what is written to a table, as lines of JSON. A line of a
 * token, by which a later run continues, follows what it covers.
 */
#include <stdio.h>

#include "base/core/key_range.h"
#include "base/core/macros.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/text_form.h"
#include "cli/time_form.h"

/* How long a call waits, between looks for Ctrl-C and for a closed output. */
#define WAIT_US ((uint64_t)250000)

static const struct option changes_options[] = {
    {"follow", 'F', NULL, "wait for more, until it is interrupted"},
    {"since", 0, "TIME",
     "commits at and after this time, or as \"1h\" ago\n"
     "(default: all that are kept; with --follow: from now on)"},
    {"from", 0, "TOKEN", "continue behind a \"token\" that was printed"},
    {"prefix", 'p', "KEY", "of rows with this prefix"},
    {"tokens", 0, NULL, "print a line {\"token\": …} behind each batch"},
    {NULL, 0, NULL, NULL},
};

/* --- printing ------------------------------------------------------------ */

static const char *kind_name(enum quarry_change_kind kind)
{
    switch (kind) {
    case QUARRY_CHANGE_SET: return "set";
    case QUARRY_CHANGE_DELETE_CELLS: return "delete-cells";
    case QUARRY_CHANGE_DELETE_FAMILY: return "delete-family";
    case QUARRY_CHANGE_DELETE_ROW: return "delete-row";
    case QUARRY_CHANGE_ADD: return "add";
    case QUARRY_CHANGE_MERGE: return "merge";
    }
    return "unknown";
}

static bool has_value(enum quarry_change_kind kind)
{
    return kind == QUARRY_CHANGE_SET || kind == QUARRY_CHANGE_ADD ||
           kind == QUARRY_CHANGE_MERGE;
}

static void put_entry(struct buf *out, const struct quarry_change_entry *e)
{
    buf_printf(out, "{\"op\": \"%s\"", kind_name(e->kind));
    if (e->kind != QUARRY_CHANGE_DELETE_ROW) {
        buf_append_str(out, ", ");
        json_put_bytes(out, "family", e->family);
    }
    if (has_value(e->kind) || e->kind == QUARRY_CHANGE_DELETE_CELLS) {
        buf_append_str(out, ", ");
        json_put_bytes(out, "qualifier", e->qualifier);
    }
    if (has_value(e->kind)) {
        buf_printf(out, ", \"timestamp\": %lld, ", (long long)e->timestamp_us);
        json_put_bytes(out, "value", e->value);
    } else if (e->kind == QUARRY_CHANGE_DELETE_CELLS &&
               (e->timestamp_us || e->max_us)) {
        buf_printf(out, ", \"from\": %lld, \"to\": %lld",
                   (long long)e->timestamp_us, (long long)e->max_us);
    }
    buf_append_byte(out, '}');
}

static void print_change(const struct quarry_change *c, struct buf *line)
{
    buf_clear(line);
    buf_append_byte(line, '{');
    json_put_bytes(line, "row", c->row);
    buf_printf(line, ", \"commit\": %lld, \"sequence\": %llu",
               (long long)c->commit_us, (unsigned long long)c->sequence);
    if (c->origin.site)
        buf_printf(line,
                   ", \"origin\": {\"site\": \"%016llx\", \"commit\": %lld, "
                   "\"sequence\": %llu}",
                   (unsigned long long)c->origin.site, (long long)c->origin.us,
                   (unsigned long long)c->origin.sequence);
    buf_append_str(line, ", \"entries\": [");
    for (size_t i = 0; i < c->entry_count; i++) {
        if (i)
            buf_append_str(line, ", ");
        put_entry(line, &c->entries[i]);
    }
    buf_append_str(line, "]}\n");
    fwrite(line->data, 1, line->len, stdout);
}

static void print_token(const struct quarry_changes *c, struct buf *line)
{
    struct buf token = BUF_INIT;
    quarry_changes_token(c, &token);
    buf_clear(line);
    buf_append_str(line, "{\"token\": \"");
    base64_put(line, buf_slice(&token));
    buf_printf(line, "\", \"watermark\": %lld}\n",
               (long long)quarry_changes_watermark(c));
    fwrite(line->data, 1, line->len, stdout);
    buf_close(&token);
}

/* --- reading ------------------------------------------------------------- */

static int changes_follow(struct quarry_changes *c,
                          const struct args *args,
                          struct err *err)
{
    bool for_ever = args_flag(args, "follow");
    bool tokens = args_flag(args, "tokens");
    const struct quarry_change *list;
    struct buf line = BUF_INIT;
    size_t count = 0;
    int rc = 0;
    do {
        rc = quarry_changes_next(c, for_ever ? WAIT_US : 0, &list, &count, err);
        for (size_t i = 0; i < count; i++)
            print_change(&list[i], &line);
        if (rc == 0 && tokens && (count || !for_ever))
            print_token(c, &line);
        if (count)
            fflush(stdout);
    } while (rc == 0 && (count || for_ever) && !interrupted() &&
             !ferror(stdout));
    buf_close(&line);
    return rc;
}

struct changes_spec {
    struct quarry_changes_options options;
    struct buf token;
    struct buf end;
};

static int spec_parse(struct cli *cli,
                      const struct args *args,
                      struct changes_spec *s,
                      struct err *err)
{
    const char *since = args_value(args, "since");
    const char *from = args_value(args, "from");
    const char *prefix = args_value(args, "prefix");
    if (from && (since || prefix))
        return usage_error(args, err, "a token has its time and its rows");
    if (from && !base64_decode(slice_str(from), &s->token))
        return err_set(err, ERR_INVALID, "--from: this is no token");
    s->options.token = buf_slice(&s->token);
    s->options.since_us = args_flag(args, "follow") ? 0 : QUARRY_CHANGES_OLDEST;
    if (prefix) {
        const struct key_range r =
            key_range_of_prefix(slice_str(prefix), &s->end);
        s->options.start = r.start;
        s->options.end = r.end;
    }
    return since ? time_parse(since, (int64_t)world_now_us(cli->world),
                              &s->options.since_us, err)
                 : 0;
}

static int
run_changes(struct cli *cli, const struct args *args, struct err *err)
{
    struct changes_spec spec = {.token = BUF_INIT, .end = BUF_INIT};
    struct quarry_table *t = NULL;
    struct quarry_changes *c = NULL;
    int rc = spec_parse(cli, args, &spec, err);
    (void)interrupt_watch();
    if (rc == 0)
        rc = cli_table(cli, args->words[0], CLI_EXISTING, &t, err);
    if (rc == 0)
        rc = quarry_changes_open(t, &spec.options, &c, err);
    if (rc == 0)
        rc = changes_follow(c, args, err);
    quarry_changes_close(c);
    if (t)
        quarry_table_close(t);
    buf_close(&spec.token);
    buf_close(&spec.end);
    return rc;
}

const struct command changes_commands[] = {
    {.name = "changes",
     .arguments = "TABLE [OPTION…]",
     .summary = "Print what was written to a table, as it was committed",
     .details =
         "A line of JSON for each commit to a row, whole; those of one row\n"
         "come in order. The table keeps its changes for a time: see\n"
         "--changes of `quarry table create` and `quarry table alter`.\n"
         "Strings that are not UTF-8 are in \"NAME_base64\".",
     .examples = "quarry table alter webtable --changes 7d\n"
                 "quarry changes webtable --follow --tokens\n"
                 "quarry changes webtable --since 1h --prefix com.cnn.",
     .words_min = 1,
     .words_max = 1,
     .options = {changes_options},
     .run = run_changes},
    {.name = NULL},
};
