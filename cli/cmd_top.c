/* quarry top: a cluster on a full screen, or one view of it as text, CSV or
 * JSON for a script or a report. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/top/top_fetch.h"
#include "cli/top/top_model.h"
#include "cli/top/top_paint.h"
#include "cli/top/top_screen.h"

/* --- what the arguments say ---------------------------------------------- */

static int
read_view(const struct args *args, struct top_model *m, struct err *err)
{
    const char *name = args_value(args, "view");
    const char *table = args_value(args, "table");
    const char *params[TOP_PARAMS_MAX] = {table};
    enum top_view_id view = TOP_NODES;
    if (name)
        view = top_view_find(name);
    else if (table)
        view = TOP_TABLETS;
    if (view > TOP_FINDINGS)
        return usage_error(args, err,
                           "there is no view %.100s: it is nodes, tables, "
                           "tablets, jobs, calls or findings",
                           name);
    if (view == TOP_TABLETS && !table)
        return usage_error(args, err, "tablets are those of --table NAME");
    if (view != TOP_TABLETS && table)
        return usage_error(args, err, "--table is for --view tablets");
    top_model_go(m, view, table ? params : NULL);
    return 0;
}

static int
read_order(const struct args *args, struct top_model *m, struct err *err)
{
    const struct top_view *v = top_view(top_place(m)->view);
    const char *name = args_value(args, "sort");
    const char *filter = args_value(args, "filter");
    size_t column = top_place(m)->sort;
    bool is_descending = top_place(m)->is_descending;
    if (name) {
        column = top_column_find(v, name);
        if (column == v->column_count)
            return usage_error(args, err, "the view %s has no column %.100s",
                               v->name, name);
        is_descending = v->columns[column].kind != TOP_TEXT;
    }
    if (args_flag(args, "reverse"))
        is_descending = !is_descending;
    top_model_set_sort(m, column, is_descending);
    if (filter && strlen(filter) > TOP_FILTER_MAX)
        return usage_error(args, err, "the filter is longer than %d bytes",
                           TOP_FILTER_MAX);
    if (filter)
        top_model_set_filter(m, slice_str(filter));
    return 0;
}

static int
read_delay(const struct args *args, struct top_model *m, struct err *err)
{
    const char *text = args_value(args, "delay");
    uint64_t us;
    uint64_t seconds;
    if (!text)
        return 0;
    if (text_parse_u64(slice_str(text), &seconds, NULL) == 0)
        us = seconds > 3600 ? UINT64_MAX : seconds * 1000000;
    else if (text_parse_duration(slice_str(text), &us, NULL))
        return usage_error(args, err, "--delay %.50s is no time (2, 500ms)",
                           text);
    if (us < TOP_DELAY_MIN_US || us > TOP_DELAY_MAX_US)
        return usage_error(args, err, "--delay is from 200ms to 1h");
    m->delay_us = us;
    return 0;
}

static int
check_once(const struct cli *cli, const struct args *args, struct err *err)
{
    if (args_flag(args, "once") || cli->format == FORMAT_TEXT)
        return 0;
    return usage_error(args, err, "--format is for --once");
}

/* --- once ---------------------------------------------------------------- */

static void print_picture(const struct top_picture *p)
{
    for (size_t i = 0; i < p->count; i++) {
        struct slice line = top_picture_line(p, i);
        fwrite(line.data, 1, line.len, stdout);
        fputc('\n', stdout);
    }
}

/* Values as they are in the document. */
static void print_csv(const struct top_model *m, const struct top_view *v)
{
    struct buf out = BUF_INIT;
    for (size_t c = 0; c < v->column_count; c++)
        buf_printf(&out, "%s%s", c ? "," : "", v->columns[c].field);
    buf_append_str(&out, "\r\n");
    for (size_t i = 0; i < m->shown_count; i++) {
        const struct top_row *row = &m->rows[m->shown[i]];
        for (size_t c = 0; c < v->column_count; c++) {
            buf_append(&out, ",", c ? 1 : 0);
            if (row->cells[c].is_number)
                buf_printf(&out, "%.15g", row->cells[c].number);
            else
                text_put_csv(&out, row->cells[c].text);
        }
        buf_append_str(&out, "\r\n");
    }
    fwrite(out.data, 1, out.len, stdout);
    buf_close(&out);
}

static void print_document(json_t *doc, json_t *overview)
{
    char *text;
    if (overview)
        json_object_set(doc, "overview", overview);
    text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    if (text)
        printf("%s\n", text);
    mem_free(text);
}

static int top_once(struct cli *cli,
                    const struct args *args,
                    struct top_model *m,
                    struct err *err)
{
    const struct top_place *p = top_place(m);
    struct top_wish wish = {.view = p->view};
    struct top_picture picture;
    struct top_answer a;
    int rc;
    for (size_t i = 0; i < TOP_PARAMS_MAX; i++)
        wish.params[i] = p->params[i];
    rc = top_fetch_once(cli, args, &wish, &a, err);
    if (rc == 0)
        top_model_take(m, a.overview, a.document, NULL);
    if (rc == 0 && cli->format == FORMAT_JSON)
        print_document(a.document, a.overview);
    else if (rc == 0 && cli->format == FORMAT_CSV)
        print_csv(m, top_view(p->view));
    if (rc == 0 && cli->format == FORMAT_TEXT) {
        top_picture_init(&picture);
        top_paint_once(m, world_now_us(cli->world), &picture);
        print_picture(&picture);
        top_picture_close(&picture);
    }
    top_answer_close(&a);
    return rc;
}

static int run_top(struct cli *cli, const struct args *args, struct err *err)
{
    struct top_model m;
    int rc;
    if (!remote_is_cluster(cli->target)) {
        usage_error(args, err, "the target %s is no cluster", cli->target);
        err->hint[0] = '\0'; /* It points to --help. */
        err_hint(err, "of a cluster: -t HOST:PORT,… or -t cluster:DIR; of a "
                      "directory: quarry table list, quarry table tablets NAME "
                      "and quarry doctor");
        return ERR_USAGE;
    }
    top_model_init(&m, TOP_NODES);
    rc = check_once(cli, args, err);
    if (rc == 0)
        rc = read_view(args, &m, err);
    if (rc == 0)
        rc = read_order(args, &m, err);
    if (rc == 0)
        rc = read_delay(args, &m, err);
    if (rc == 0)
        rc = args_flag(args, "once") ? top_once(cli, args, &m, err)
                                     : top_screen(cli, args, &m, err);
    top_model_close(&m);
    return rc;
}

static const struct option top_options[] = {
    {"view", 0, "VIEW",
     "nodes (the default), tables, tablets, jobs, calls or\nfindings"},
    {"table", 0, "NAME", "whose tablets the view tablets shows"},
    {"sort", 0, "COLUMN", "by this column: numbers from the largest"},
    {"reverse", 0, NULL, "the other way round"},
    {"filter", 0, "TEXT", "only rows that have TEXT"},
    {"delay", 0, "TIME", "between two looks (2s)"},
    {"once", 0, NULL, "print the view and end"},
    {NULL, 0, NULL, NULL},
};

const struct command top_commands[] = {
    {.name = "top",
     .arguments = "",
     .summary = "Watch nodes, tables, tablets, jobs and calls of a cluster",
     .details =
         "The first line says how the cluster is. Keys: 1 to 6 choose a view, "
         "Enter shows\nwhat is behind a row (table, tablets, tablet; node; "
         "job, attempts; call, trace),\nEsc goes back, < > and capital letters "
         "sort, r turns the order, / filters, p\npauses, h shows all keys, q "
         "ends. A cluster that does not answer is asked again\nand again. "
         "Colours: where the terminal has them, and $NO_COLOR is not set.\n\n"
         "--once prints one view; as JSON it is the document of quarry monitor "
         "with the\noverview in it, whole and not filtered; as CSV the rows.",
     .examples = "quarry top -t cluster:./quarry-cluster\n"
                 "quarry top --once --view tables --sort writes_per_s\n"
                 "quarry top --once --view tablets --table web --format json",
     .options = {top_options, remote_options},
     .run = run_top},
    {.name = NULL},
};
