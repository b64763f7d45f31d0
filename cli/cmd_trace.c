/* quarry trace: a trace as a waterfall, and what servers keep. The spans come
 * from the monitor's document, so that the console shows the same.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/rpc/remote.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/monitor/monitor.h"
#include "cli/remote_call.h"
#include "cli/span_calls.h"
#include "cli/table_printer.h"

#define NODE_US   UINT64_C(5000000)
#define BAR_CELLS 24

static const struct option trace_options[] = {
    {"sample", 0, "N", "keep one trace in N from now on; 0: none"},
    {"slow", 0, "DURATION", "and calls that take as long, as 200ms; 0: none"},
    {NULL, 0, NULL, NULL},
};

/* --- the waterfall ------------------------------------------------------- */

static int64_t span_number_of(const json_t *span, const char *name)
{
    return json_integer_value(json_object_get(span, name));
}

static const char *span_text_of(const json_t *span, const char *name)
{
    const char *text = json_string_value(json_object_get(span, name));
    return text ? text : "";
}

/* The time that all spans of the document take. */
struct trace_extent {
    int64_t begin_us;
    int64_t end_us;
};

static struct trace_extent measure_spans(const json_t *spans)
{
    struct trace_extent e = {INT64_MAX, INT64_MIN};
    size_t i;
    const json_t *span;
    json_array_foreach(spans, i, span) {
        int64_t begin = span_number_of(span, "begun_at_us");
        e.begin_us = MIN_OF(e.begin_us, begin);
        e.end_us =
            MAX_OF(e.end_us, begin + span_number_of(span, "duration_us"));
    }
    return e;
}

/* Where the span is within the whole: "   ===     ". */
static void
put_bar(struct buf *out, const struct trace_extent *e, const json_t *span)
{
    int64_t whole = MAX_OF(e->end_us - e->begin_us, 1);
    int64_t begin = span_number_of(span, "begun_at_us") - e->begin_us;
    int64_t end = begin + span_number_of(span, "duration_us");
    for (int64_t i = 0; i < BAR_CELLS; i++) {
        int64_t from = whole * i / BAR_CELLS;
        int64_t to = whole * (i + 1) / BAR_CELLS;
        bool in = begin < to && end > from;
        bool is_point = begin >= from && begin < to;
        buf_append_byte(out, in || is_point ? '=' : ' ');
    }
}

static void put_attributes_of(struct buf *out, const json_t *span)
{
    json_t *attributes = json_object_get(span, "attributes");
    const char *key;
    json_t *value;
    json_object_foreach(attributes, key, value) {
        if (json_is_string(value)) {
            buf_printf(out, " %s=", key);
            text_put_escaped(out, slice_str(json_string_value(value)), ' ');
        } else {
            buf_printf(out, " %s=%lld", key,
                       (long long)json_integer_value(value));
        }
    }
}

static void
put_span_line(struct buf *out, const struct trace_extent *e, const json_t *span)
{
    int64_t offset = span_number_of(span, "begun_at_us") - e->begin_us;
    int64_t depth = MIN_OF(span_number_of(span, "depth"), 20);
    const char *outcome = span_text_of(span, "outcome");
    struct buf time = BUF_INIT;
    text_put_duration(&time, (uint64_t)MAX_OF(offset, 0));
    buf_printf(out, "%9s ", buf_cstr(&time));
    buf_clear(&time);
    text_put_duration(&time, (uint64_t)span_number_of(span, "duration_us"));
    buf_printf(out, "%9s |", buf_cstr(&time));
    buf_close(&time);
    put_bar(out, e, span);
    buf_printf(out, "| %*s", (int)(2 * depth), "");
    text_put_escaped(out, slice_str(span_text_of(span, "name")), 0);
    if (strcmp(span_text_of(span, "kind"), "client") == 0) {
        buf_append_str(out, " -> ");
        text_put_escaped(out, slice_str(span_text_of(span, "peer")), ' ');
    } else {
        buf_append_str(out, " @");
        text_put_escaped(out, slice_str(span_text_of(span, "node")), ' ');
    }
    put_attributes_of(out, span);
    if (strcmp(outcome, "ok") != 0)
        buf_printf(out, " FAILED: %s", outcome);
    buf_append_byte(out, '\n');
}

static void print_waterfall(const struct cli *cli, const json_t *doc)
{
    const json_t *spans = json_object_get(doc, "spans");
    struct trace_extent e = measure_spans(spans);
    struct buf out = BUF_INIT;
    size_t i;
    const json_t *part;
    json_array_foreach(json_object_get(doc, "warnings"), i, part)
        cli_remark(cli, "%s", json_string_value(part));
    buf_printf(&out, "    begin  duration  %s\n", span_text_of(doc, "id"));
    json_array_foreach(spans, i, part)
        put_span_line(&out, &e, part);
    fwrite(out.data, 1, out.len, stdout);
    buf_close(&out);
}

static void print_trace_document(const json_t *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(12));
    if (text)
        printf("%s\n", text);
    mem_free(text);
}

static int show_trace(const struct remote *r, struct err *err)
{
    const struct monitor_source source = {.world = r->world,
                                          .security = r->security,
                                          .cluster = r->cli->cluster,
                                          .cell = r->addresses,
                                          .cell_count = r->address_count};
    const struct monitor_param id = {"id", r->args->words[0]};
    struct monitor *m;
    json_t *doc = NULL;
    int rc = monitor_open(&source, &m, err);
    if (rc)
        return rc;
    rc = monitor_make(m, "trace", &id, 1, &doc, err);
    if (rc == 0 && r->cli->format == FORMAT_JSON)
        print_trace_document(doc);
    else if (rc == 0)
        print_waterfall(r->cli, doc);
    json_decref(doc);
    monitor_close(m);
    return rc;
}

/* --- settings ------------------------------------------------------------ */

static int trace_set_ask(const struct remote *r,
                         const char *address,
                         struct trace_settings *s,
                         struct err *err)
{
    struct rpc_channel_options o = {.security = r->security};
    struct rpc_call_options call = {.timeout_us = NODE_US};
    struct rpc_channel *c = rpc_channel_new(address, &o);
    struct buf request = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    trace_settings_put(s, &request);
    rc = rpc_call(c, SERVER_TRACE_SETTINGS, &call, buf_slice(&request),
                  SLICE_EMPTY, &reply, NULL, err);
    if (rc == 0)
        rc = trace_settings_get(buf_slice(&reply), s, err);
    if (rc)
        err_wrap(err, "node %s", address);
    rpc_channel_free(c);
    buf_close(&request);
    buf_close(&reply);
    return rc;
}

/* All nodes get them, also after one has failed; the first failure is told. */
static int set_traces(const struct remote *r, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"node", SHEET_TEXT}, {"sample", SHEET_NUMBER}, {"slow", SHEET_AGE}};
    const struct trace_settings *wanted = r->ctx;
    struct sheet s;
    size_t answers = 0;
    int first = 0;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < r->address_count; i++) {
        struct trace_settings now = *wanted;
        struct err why = ERR_INIT;
        int rc = trace_set_ask(r, r->addresses[i], &now, &why);
        if (rc && !first)
            first = err_copy(err, &why);
        if (rc)
            continue;
        sheet_add_str(&s, r->addresses[i]);
        sheet_add_u64(&s, now.one_in);
        sheet_add_u64(&s, now.slow_us);
        answers++;
    }
    if (answers)
        sheet_print(&s, r->cli->format);
    sheet_close(&s);
    return first;
}

static int trace_on_fiber(struct remote *r, struct err *err)
{
    return r->args->word_count ? show_trace(r, err) : set_traces(r, err);
}

static int run_trace(struct cli *cli, const struct args *args, struct err *err)
{
    struct trace_settings s = {TRACE_SETTING_KEPT, TRACE_SETTING_KEPT};
    const char *slow = args_value(args, "slow");
    int rc = args_number(args, "sample", 0, INT64_MAX, &s.one_in, err);
    if (rc == 0 && slow && strcmp(slow, "0") == 0)
        s.slow_us = 0;
    else if (rc == 0 && slow &&
             text_parse_duration(slice_str(slow), &s.slow_us, err))
        rc = usage_error(args, err, "--slow: '%s' is no duration", slow);
    if (rc == 0 && args->word_count && (slow || args_value(args, "sample")))
        rc = usage_error(args, err, "an ID, or --sample and --slow");
    return rc ? rc : remote_run(cli, args, trace_on_fiber, &s, err);
}

const struct command trace_commands[] = {
    {.name = "trace",
     .arguments = "[ID]",
     .summary = "Show where the time of a call went",
     .details =
         "The spans that all nodes keep of the trace ID, as a waterfall: when "
         "each began, how\nlong it took, where. Ids are in logs (request=ID), "
         "in the console's calls, in errors\nof calls that took too long, and "
         "printed by any command with --trace. A job's id, its\nbeginning or "
         "\"last\" shows the trace of the job.\n\nWithout ID: the settings of "
         "the nodes that the target names. --sample and --slow change\nthem, "
         "until those nodes restart. Nodes keep sampled traces and slow "
         "calls.",
     .examples = "quarry scan webtable --trace -t cluster:./quarry-cluster\n"
                 "quarry trace 0af7651916cd43dd8448eb211c80319c -t a:7400\n"
                 "quarry trace --sample 100 --slow 200ms -t a:7400,b:7400",
     .words_min = 0,
     .words_max = 1,
     .options = {trace_options, remote_options},
     .run = run_trace},
    {.name = NULL},
};
