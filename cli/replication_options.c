/* The options by which commands describe a stream of replication: what of a
 * table it takes, where its target is, and the proof that we may write there.
 */
#include "cli/replication_options.h"

#include <string.h>

#include "base/core/key_range.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"

const struct option replication_options[] = {
    {"to", 0, "TARGET",
     "file:DIR, HOST:PORT,… or cluster:DIR; default: the same\nstore"},
    {"to-table", 0, "TABLE", "its name there (default: the same)"},
    {"family", 0, "FAMILY[=NAME]",
     "send this one, called NAME there; may be repeated\n(default: all)"},
    {"start", 0, "ROW", "rows from this one on,"},
    {"end", 0, "ROW", "and before this one"},
    {"prefix", 'p', "KEY", "rows with this prefix"},
    {"qualifiers", 0, "RE", "columns whose whole qualifier matches"},
    {"no-deletions", 0, NULL, "deletions are not sent"},
    {"rate", 0, "SIZE", "at most SIZE bytes a second"},
    {"to-key", 0, "FILE", "the key of the cluster at the other end"},
    {"to-certificate", 0, "FILE", "instead: of this side, PEM,"},
    {"to-certificate-key", 0, "FILE", "its key,"},
    {"to-authority", 0, "FILE", "and the authority of the other end"},
    {NULL, 0, NULL, NULL},
};

static void take_families(const struct args *args, struct replication_args *a)
{
    size_t count = args_count(args, "family");
    a->families = mem_zalloc(count + 1, sizeof(*a->families));
    a->texts = mem_zalloc(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        char *equals;
        a->texts[i] = mem_strdup(args_nth(args, "family", i));
        equals = strchr(a->texts[i], '=');
        if (equals)
            *equals = '\0';
        a->families[i].from = a->texts[i];
        a->families[i].to = equals ? equals + 1 : NULL;
    }
    a->spec.families = a->families;
    a->spec.family_count = count;
}

static int
take_rows(const struct args *args, struct replication_args *a, struct err *err)
{
    const char *start = args_value(args, "start");
    const char *end = args_value(args, "end");
    const char *prefix = args_value(args, "prefix");
    if (prefix && (start || end))
        return usage_error(args, err, "--prefix says where rows begin and end");
    if (prefix) {
        const struct key_range r =
            key_range_of_prefix(slice_str(prefix), &a->end);
        a->spec.start = r.start;
        a->spec.end = r.end;
    }
    if (start)
        a->spec.start = slice_str(start);
    if (end)
        a->spec.end = slice_str(end);
    if (a->spec.end.len && slice_cmp(a->spec.start, a->spec.end) >= 0)
        return usage_error(args, err, "the range of rows is empty");
    return 0;
}

/* Of a cluster: where it is, and the proof that we may. */
static int take_target(struct cli *cli,
                       const struct args *args,
                       struct replication_args *a,
                       struct err *err)
{
    struct quarry_options o = {.world = NULL};
    struct cli there = *cli;
    int rc;
    there.target = args_value(args, "to");
    if (!there.target || !remote_is_cluster(there.target)) {
        a->spec.target = there.target;
        return 0;
    }
    there.key = args_value(args, "to-key");
    if (args_flag(args, "to-certificate")) {
        there.certificate = args_value(args, "to-certificate");
        there.certificate_key = args_value(args, "to-certificate-key");
        there.authority = args_value(args, "to-authority");
    }
    rc = remote_resolve(&there, &o, &a->target, &a->key_file, err);
    a->spec.target = a->target;
    a->spec.key_file = o.key_file;
    a->spec.cluster = o.cluster;
    a->spec.principal = o.principal;
    a->spec.certificate_file = o.certificate_file;
    a->spec.certificate_key_file = o.certificate_key_file;
    a->spec.authority_file = o.authority_file;
    if (rc)
        err_wrap(err, "--to %s", there.target);
    return rc;
}

int replication_args_parse(struct cli *cli,
                           const struct args *args,
                           const char *table,
                           struct replication_args *out,
                           struct err *err)
{
    const char *rate = args_value(args, "rate");
    int rc;
    *out = (struct replication_args){.end = BUF_INIT};
    out->spec = (struct quarry_replication_spec){
        .table = table,
        .to_table = args_value(args, "to-table"),
        .qualifiers = args_value(args, "qualifiers"),
        .no_deletions = args_flag(args, "no-deletions")};
    take_families(args, out);
    if (!args_flag(args, "to") && !out->spec.to_table)
        return usage_error(args, err,
                           "say where to: --to TARGET, or --to-table TABLE of "
                           "the same store");
    rc = take_rows(args, out, err);
    if (rc == 0)
        rc = take_target(cli, args, out, err);
    if (rc == 0 && rate &&
        text_parse_bytes(slice_str(rate), &out->spec.bytes_per_s, err))
        rc = usage_error(args, err, "--rate: \"%s\" is no size", rate);
    return rc;
}

void replication_args_close(struct replication_args *a)
{
    for (size_t i = 0; i < a->spec.family_count; i++)
        mem_free(a->texts[i]);
    mem_free(a->texts);
    mem_free(a->families);
    buf_close(&a->end);
    mem_free(a->target);
    mem_free(a->key_file);
}
