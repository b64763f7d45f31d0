/* Without an endpoint in the environment a command records nothing: ids travel,
 * and servers keep their parts. With one it has a tracer, and samples as
 * OpenTelemetry's samplers say: all, unless a parent decides. */
#include "cli/command_trace.h"

#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "base/trace/tracer.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/method_names.h"
#include "cli/remote_call.h"
#include "cli/trace_export.h"

/* For the receiver of spans, after the command's work is done. */
#define PATIENCE_US UINT64_C(3000000)

struct command_trace {
    struct span span;
    bool asked; /* By --trace. */
    struct otlp_exporter *exporter;
    struct otlp_sampler sampler;
};

/* A receiver that is named but cannot be used must not stop the command. */
static void open_export(struct cli *cli, struct command_trace *t)
{
    struct trace_export_options o = {.url = "",
                                     .headers_file = "",
                                     .authority = "",
                                     .cluster = cli->cluster,
                                     .node = ""};
    struct tracer *tracer;
    struct err err = ERR_INIT;
    t->exporter = NULL;
    if (cli->tracer) /* Of a command in which this one runs. */
        return;
    tracer = tracer_new(cli->world, TRACE_BYTES_DEFAULT);
    tracer_set_names(tracer, method_name);
    if (trace_export_open(cli->world, tracer, &o, &t->exporter, &t->sampler,
                          &err))
        cli_remark(cli, "%s", err.text);
    if (!t->exporter) {
        tracer_free(tracer);
        return;
    }
    tracer_set_ratio(tracer, t->sampler.is_set ? t->sampler.ratio : 1);
    world_set_tracer(cli->world, tracer);
    cli->tracer = tracer;
}

static void
begin_span(struct cli *cli, const struct command *c, struct command_trace *t)
{
    struct trace_context caller = {.span_id = 0};
    const char *variable = remote_variable("TRACEPARENT");
    struct traceparent p;
    if (variable && traceparent_parse(slice_str(variable), &p))
        caller = (struct trace_context){
            .trace = p.trace, .span_id = p.span_id, .sampled = p.sampled};
    if (t->exporter && t->sampler.is_set && t->sampler.ignores_parent &&
        caller.span_id)
        caller.sampled = tracer_samples(cli->tracer, caller.trace);
    caller.sampled |= t->asked;
    span_begin_root(&t->span, cli->world, SPAN_CLIENT, c->name, &caller, 0);
    if (t->exporter) /* Calls of the background are traces of their own. */
        tracer_set_ratio(cli->tracer, 0);
}

/* End it, and name it to a user who asked for it, or who has to ask the
 * operator. */
static void end_span(const struct cli *cli,
                     struct command_trace *t,
                     int rc,
                     struct err *err)
{
    char id[TRACE_ID_TEXT_BYTES];
    trace_id_print(t->span.self.trace, id);
    span_end(&t->span, rc);
    if (t->asked)
        cli_remark(cli, "trace %s", id);
    else if ((rc == ERR_DEADLINE || rc == ERR_IO || rc == ERR_CORRUPT ||
              rc == ERR_UNKNOWN_OUTCOME) &&
             err->hint[0] == '\0')
        err_hint(err, "quarry trace %s may say where the time went", id);
}

int command_run_traced(struct cli *cli,
                       const struct command *c,
                       const struct args *args,
                       struct err *err)
{
    struct command_trace t = {.asked = args_flag(args, "trace")};
    int rc;
    if (!remote_is_cluster(cli->target) || c == server_commands)
        return c->run(cli, args, err);
    open_export(cli, &t);
    begin_span(cli, c, &t);
    rc = c->run(cli, args, err);
    end_span(cli, &t, rc, err);
    otlp_exporter_close(t.exporter, PATIENCE_US);
    return rc;
}
