/* quarry doctor: what is wrong with a cluster, or with a store in a directory,
 * or soon will be, and what to do about it. The document `findings` has it;
 * here it is printed.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/doctor_store.h"
#include "cli/interrupt.h"
#include "cli/monitor/monitor.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"

/* Between two looks: what is no longer so was noise. */
#define PAUSE_US UINT64_C(2000000)
/* Until somebody of the cluster answers. */
#define REACH_US UINT64_C(3000000)

enum doctor_status {
    DOCTOR_WELL,
    DOCTOR_WARNING,
    DOCTOR_FAILING
};

static const char *text_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    return text ? text : "";
}

static enum doctor_status doctor_status_of(const json_t *doc)
{
    const char *state = text_of(doc, "state");
    if (strcmp(state, "well") == 0)
        return DOCTOR_WELL;
    return strcmp(state, "warning") == 0 ? DOCTOR_WARNING : DOCTOR_FAILING;
}

/* --- printing ------------------------------------------------------------ */

static void print_json(const json_t *doc)
{
    char *text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    if (text)
        printf("%s\n", text);
    mem_free(text);
}

static void print_csv(const json_t *doc)
{
    static const struct sheet_column columns[] = {
        {"severity", SHEET_TEXT}, {"id", SHEET_TEXT},
        {"subject", SHEET_TEXT},  {"since", SHEET_TIME},
        {"sentence", SHEET_TEXT}, {"remedy", SHEET_TEXT}};
    struct sheet s;
    size_t i;
    json_t *x;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    json_array_foreach(json_object_get(doc, "findings"), i, x) {
        sheet_add_str(&s, text_of(x, "severity"));
        sheet_add_str(&s, text_of(x, "id"));
        sheet_add_str(&s, text_of(x, "subject"));
        sheet_addf(
            &s, "%lld",
            (long long)json_integer_value(json_object_get(x, "since_at_us")));
        sheet_add_str(&s, text_of(x, "sentence"));
        sheet_add_str(&s, text_of(x, "remedy"));
    }
    sheet_print(&s, FORMAT_CSV);
    sheet_close(&s);
}

static void put_finding(struct buf *out, const json_t *x)
{
    json_int_t since = json_integer_value(json_object_get(x, "since_at_us"));
    buf_printf(out, "\n%s: %s\n", text_of(x, "severity"),
               text_of(x, "sentence"));
    if (since > 0) {
        buf_append_str(out, "    seen since ");
        text_put_time(out, (int64_t)(since - since % 1000000));
        buf_append_str(out, "\n");
    }
    buf_printf(out, "    what to do: %s\n", text_of(x, "remedy"));
}

/* Names in these texts come from everywhere, and go to terminals. */
static void print_clean(struct buf *text)
{
    for (size_t i = 0; i < text->len; i++) {
        unsigned char c = (unsigned char)text->data[i];
        if ((c < 0x20 && c != '\n') || c == 0x7f)
            text->data[i] = '?';
    }
    fwrite(text->data, 1, text->len, stdout);
}

static void print_text(const json_t *doc)
{
    struct buf out = BUF_INIT;
    size_t i;
    json_t *x;
    buf_printf(&out, "%s\n", text_of(doc, "sentence"));
    json_array_foreach(json_object_get(doc, "findings"), i, x) {
        put_finding(&out, x);
    }
    json_array_foreach(json_object_get(doc, "warnings"), i, x) {
        buf_printf(&out, "%snot asked: %s\n", i ? "" : "\n",
                   json_string_value(x));
    }
    print_clean(&out);
    buf_close(&out);
}

static void print_findings(const struct cli *cli, const json_t *doc)
{
    if (cli->format == FORMAT_JSON)
        print_json(doc);
    else if (cli->format == FORMAT_CSV)
        print_csv(doc);
    else
        print_text(doc);
    fflush(stdout);
}

/* --- a cluster ----------------------------------------------------------- */

/* A text that tells one set of findings from another. */
static void put_ids(struct buf *out, const json_t *doc)
{
    size_t i;
    json_t *x;
    buf_clear(out);
    json_array_foreach(json_object_get(doc, "findings"), i, x) {
        buf_printf(out, "%s %s %s\n", text_of(x, "id"), text_of(x, "severity"),
                   text_of(x, "subject"));
    }
}

/* Look again and again; print what has changed. */
static int
doctor_watch(const struct remote *r, struct monitor *m, struct err *err)
{
    struct buf before = BUF_INIT;
    struct buf now = BUF_INIT;
    bool is_first = true;
    int rc = 0;
    while (rc == 0 && !interrupted()) {
        json_t *doc = NULL;
        rc = monitor_make(m, "findings", NULL, 0, &doc, err);
        if (rc)
            break;
        put_ids(&now, doc);
        if (is_first || !slice_eq(buf_slice(&now), buf_slice(&before))) {
            if (!is_first && r->cli->format == FORMAT_TEXT)
                printf("\n");
            print_findings(r->cli, doc);
        }
        is_first = false;
        buf_clear(&before);
        buf_append_slice(&before, buf_slice(&now));
        r->cli->status = (int)doctor_status_of(doc);
        json_decref(doc);
        world_sleep_us(r->world, PAUSE_US);
    }
    buf_close(&before);
    buf_close(&now);
    return rc;
}

/* Two looks, of which the second is told. */
static int
doctor_look(const struct remote *r, struct monitor *m, struct err *err)
{
    json_t *doc = NULL;
    int rc = monitor_make(m, "findings", NULL, 0, &doc, err);
    if (rc)
        return rc;
    json_decref(doc);
    doc = NULL;
    world_sleep_us(r->world, PAUSE_US);
    rc = monitor_make(m, "findings", NULL, 0, &doc, err);
    if (rc)
        return rc;
    print_findings(r->cli, doc);
    r->cli->status = (int)doctor_status_of(doc);
    json_decref(doc);
    return 0;
}

static int doctor_on_fiber(struct remote *r, struct err *err)
{
    const struct monitor_source source = {.world = r->world,
                                          .security = r->security,
                                          .cluster = r->cli->cluster,
                                          .cell = r->addresses,
                                          .cell_count = r->address_count};
    struct monitor *m;
    int rc = monitor_open(&source, &m, err);
    if (rc)
        return rc;
    rc = args_flag(r->args, "watch") ? doctor_watch(r, m, err)
                                     : doctor_look(r, m, err);
    monitor_close(m);
    return rc;
}

static int
doctor_cluster(struct cli *cli, const struct args *args, struct err *err)
{
    uint64_t before = cli->reach_us;
    int rc;
    if (args_flag(args, "watch"))
        (void)interrupt_watch();
    cli->reach_us = REACH_US;
    rc = remote_run(cli, args, doctor_on_fiber, NULL, err);
    cli->reach_us = before;
    if (args_flag(args, "watch"))
        interrupt_unwatch();
    return rc;
}

/* --- a directory --------------------------------------------------------- */

static int
doctor_store(struct cli *cli, const struct args *args, struct err *err)
{
    json_t *doc;
    int rc;
    if (args_flag(args, "watch"))
        return usage_error(args, err, "--watch is for clusters");
    rc = doctor_store_look(cli, &doc, err);
    if (rc)
        return rc;
    print_findings(cli, doc);
    cli->status = (int)doctor_status_of(doc);
    json_decref(doc);
    return 0;
}

static int run_doctor(struct cli *cli, const struct args *args, struct err *err)
{
    int rc = remote_is_cluster(cli->target) ? doctor_cluster(cli, args, err)
                                            : doctor_store(cli, args, err);
    if (rc == 0 || rc == ERR_USAGE)
        return rc;
    /* Status 1 would say that it works. */
    cli_report(err);
    cli->status = DOCTOR_FAILING;
    return 0;
}

static const struct option doctor_options[] = {
    {"watch", 0, NULL, "look every two seconds, and print what has changed"},
    {NULL, 0, NULL, NULL},
};

const struct command doctor_commands[] = {
    {.name = "doctor",
     .arguments = "",
     .summary = "Say what is wrong or soon will be, and what to do",
     .details =
         "One sentence about the whole, then failures, warnings and notes, "
         "with figures and\nwith what to do. Of a cluster it asks all nodes, "
         "twice, and says what it could\nnot ask. Of a directory: its space, "
         "who has it open, whether its files are\nthere.\n\nExit status: 0 "
         "well (or notes), 1 warnings, 2 failures, or nobody answers.\n"
         "docs/doctor.md has a table of all findings.",
     .examples = "quarry doctor -t cluster:./quarry-cluster\n"
                 "quarry doctor -t a:7400,b:7400 --key key --watch\n"
                 "quarry doctor --format json",
     .options = {doctor_options, remote_options},
     .run = run_doctor},
    {.name = NULL},
};
