/* Scan options of the command line into read options of the library: ranges,
 * columns, filters, versions, times and Sawzall programs.
 */
#include "cli/scan_args.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/key_range.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/column.h"
#include "cli/text_form.h"
#include "cli/time_form.h"

/* Filters of one command: a few options and the columns of get. */
#define FILTERS_MAX 8

const struct option read_options[] = {
    {"start", 0, "ROW", "rows from ROW on"},
    {"end", 0, "ROW", "rows before ROW"},
    {"prefix", 0, "PREFIX",
     "rows that begin with PREFIX; may be repeated; with\n"
     "--start, --end or --row: those of them"},
    {"row", 0, "ROW", "just this row; may be repeated"},
    {"family", 0, "FAMILY", "only this family; may be repeated"},
    {"column", 0, "REGEX", "only columns whose FAMILY:QUALIFIER matches"},
    {"row-regex", 0, "REGEX", "only rows whose key matches"},
    {"value", 0, "REGEX", "only cells whose value matches"},
    {"versions", 0, "N", "only the newest N cells of each column"},
    {"since", 0, "TIME", "only cells of TIME or newer (2024-05-01, 7d, …)"},
    {"until", 0, "TIME", "only cells older than TIME"},
    {"as-of", 0, "TIME",
     "the table as it was at TIME: exactly, if it keeps its\n"
     "changes since; else its cells up to TIME that are still\n"
     "there, without undoing deletions"},
    {"limit", 'n', "N", "stop after N rows"},
    {"keys-only", 0, NULL, "row keys without cells"},
    {"sample", 0, "SHARE", "a random share of the rows: 0.01"},
    {"saw", 0, "FILE", "rows that this Sawzall program emits to `keep`"},
    {"saw-text", 0, "TEXT", "the same, the program on the command line"},
    {NULL, 0, NULL, NULL},
};

static struct slice scan_args_unescaped(struct scan_args *spec,
                                        const char *text)
{
    struct buf b = BUF_INIT;
    struct slice s;
    argument_unescape(&b, slice_str(text));
    s = arena_dup(&spec->arena, buf_slice(&b));
    buf_close(&b);
    return s;
}

/* The rows of --start and --end. */
static struct key_range bounds_of(const struct args *args,
                                  struct scan_args *spec)
{
    const char *start = args_value(args, "start");
    const char *end = args_value(args, "end");
    return (struct key_range){scan_args_unescaped(spec, start ? start : ""),
                              scan_args_unescaped(spec, end ? end : "")};
}

static void add_range(struct scan_args *spec, struct key_range r)
{
    PRE(spec->ranges);
    if (!key_range_is_empty(r))
        spec->ranges[spec->options.range_count++] = (struct quarry_range){
            arena_dup(&spec->arena, r.start), arena_dup(&spec->arena, r.end)};
}

static void parse_ranges(const struct args *args, struct scan_args *spec)
{
    size_t prefixes = args_count(args, "prefix");
    struct key_range bounds = bounds_of(args, spec);
    struct buf end = BUF_INIT;
    PRE(!spec->ranges);
    spec->ranges = mem_zalloc(prefixes + 1, sizeof(*spec->ranges));
    spec->options.ranges = spec->ranges;
    for (size_t i = 0; i < prefixes; i++) {
        struct slice p = scan_args_unescaped(spec, args_nth(args, "prefix", i));
        add_range(spec,
                  key_range_intersect(bounds, key_range_of_prefix(p, &end)));
    }
    if (prefixes == 0 && (args_flag(args, "start") || args_flag(args, "end")))
        add_range(spec, bounds);
    buf_close(&end);
}

static bool
is_row_asked(const struct scan_args *spec, bool restricted, struct slice row)
{
    const struct quarry_range *r = spec->ranges;
    for (size_t i = 0; i < spec->options.range_count; i++)
        if (key_range_has((struct key_range){r[i].start, r[i].end}, row))
            return true;
    return !restricted;
}

/* Ranges and single rows are both conditions, while the library would return
 * what either names: the rows in ranges stand for both. */
static void parse_rows(const struct args *args, struct scan_args *spec)
{
    size_t rows = args_count(args, "row");
    bool restricted = args_flag(args, "prefix") || args_flag(args, "start") ||
                      args_flag(args, "end");
    spec->keys = mem_zalloc(rows + 1, sizeof(*spec->keys));
    spec->options.keys = spec->keys;
    for (size_t i = 0; i < rows; i++) {
        struct slice row = scan_args_unescaped(spec, args_nth(args, "row", i));
        if (is_row_asked(spec, restricted, row))
            spec->keys[spec->options.key_count++] = row;
    }
    if (rows > 0)
        spec->options.range_count = 0;
    /* Neither ranges nor keys would stand for all rows. */
    if ((rows > 0 || restricted) && spec->options.key_count == 0 &&
        spec->options.range_count == 0)
        spec->ranges[spec->options.range_count++] =
            (struct quarry_range){KEY_RANGE_NONE.start, KEY_RANGE_NONE.end};
    POST(spec->options.key_count <= rows);
}

static void parse_names(const struct args *args, struct scan_args *spec)
{
    size_t families = args_count(args, "family");
    PRE(!spec->families);
    spec->families = mem_zalloc(families + 1, sizeof(*spec->families));
    for (size_t i = 0; i < families; i++)
        spec->families[i] = args_nth(args, "family", i);
    spec->options.families = spec->families;
    spec->options.family_count = families;
    spec->options.column_regex = args_value(args, "column");
    spec->options.keys_only = args_flag(args, "keys-only");
}

static int parse_time(struct cli *cli,
                      const struct args *args,
                      const char *name,
                      int64_t *out,
                      struct err *err)
{
    const char *text = args_value(args, name);
    struct err why = ERR_INIT;
    if (!text)
        return ERR_OK;
    if (time_parse(text, (int64_t)world_now_us(cli->world), out, &why))
        return usage_error(args, err, "--%s: %s", name, why.text);
    return ERR_OK;
}

static int parse_numbers(struct cli *cli,
                         const struct args *args,
                         struct quarry_read_options *o,
                         struct err *err)
{
    uint64_t versions = 0;
    int rc = args_number(args, "versions", 1, UINT32_MAX, &versions, err);
    if (!rc)
        rc = args_number(args, "limit", 1, UINT64_MAX, &o->row_limit, err);
    if (!rc)
        rc = parse_time(cli, args, "since", &o->time_min_us, err);
    if (!rc)
        rc = parse_time(cli, args, "until", &o->time_max_us, err);
    if (!rc)
        rc = parse_time(cli, args, "as-of", &o->as_of_us, err);
    o->versions = (uint32_t)versions;
    return rc;
}

static int parse_sample(const struct args *args,
                        struct quarry_filter **parts,
                        size_t *n,
                        struct err *err)
{
    const char *text = args_value(args, "sample");
    char *end;
    double share;
    if (!text)
        return ERR_OK;
    share = strtod(text, &end);
    if (end == text || *end || !(share > 0 && share < 1))
        return usage_error(args, err, "--sample: '%s' is not between 0 and 1",
                           text);
    PRE(*n < FILTERS_MAX);
    parts[(*n)++] = quarry_filter_row_sample(share);
    return ERR_OK;
}

static int
parse_filter(const struct args *args, struct scan_args *spec, struct err *err)
{
    struct quarry_filter *parts[FILTERS_MAX];
    const char *rows = args_value(args, "row-regex");
    const char *values = args_value(args, "value");
    size_t n = 0;
    int rc = parse_sample(args, parts, &n, err);
    if (rc)
        return rc;
    if (rows)
        parts[n++] = quarry_filter_row_regex(slice_str(rows));
    if (values)
        parts[n++] = quarry_filter_value_regex(slice_str(values));
    if (values && spec->options.keys_only) {
        /* The shorthand would take the values away before they are looked at.
         */
        parts[n++] = quarry_filter_strip_value();
        spec->options.keys_only = false;
    }
    INVARIANT(n <= FILTERS_MAX);
    if (n > 0)
        spec->filter = quarry_filter_chain(parts, n);
    spec->options.filter = spec->filter;
    return ERR_OK;
}

static int
parse_program(const struct args *args, struct scan_args *spec, struct err *err)
{
    const char *file = args_value(args, "saw");
    const char *text = args_value(args, "saw-text");
    int rc = ERR_OK;
    if (file && text)
        return usage_error(args, err, "either --saw or --saw-text");
    if (file)
        rc = cli_read_file(file, &spec->program, err);
    else if (text)
        buf_append_str(&spec->program, text);
    if (!rc && (file || text)) {
        spec->options.program = buf_cstr(&spec->program);
        spec->options.program_len = spec->program.len;
    }
    return rc;
}

int scan_args_parse(struct cli *cli,
                    const struct args *args,
                    struct scan_args *out,
                    struct err *err)
{
    int rc;
    memset(out, 0, sizeof(*out));
    arena_init(&out->arena);
    parse_ranges(args, out);
    parse_rows(args, out);
    parse_names(args, out);
    rc = parse_numbers(cli, args, &out->options, err);
    if (!rc)
        rc = parse_filter(args, out, err);
    if (!rc)
        rc = parse_program(args, out, err);
    if (rc)
        scan_args_close(out);
    return rc;
}

void scan_args_close(struct scan_args *spec)
{
    mem_free(spec->ranges);
    mem_free(spec->families);
    mem_free(spec->keys);
    buf_close(&spec->program);
    quarry_filter_free(spec->filter);
    arena_close(&spec->arena);
    memset(spec, 0, sizeof(*spec));
}

/* The cells of one column, or of its family. */
static struct quarry_filter *column_filter(const char *text, struct err *err)
{
    struct column c;
    struct slice q;
    struct quarry_filter *f;
    if (column_parse(slice_str(text), &c, err))
        return NULL;
    q = buf_slice(&c.qualifier);
    if (q.len == 0)
        f = quarry_filter_column_range(c.family, QUARRY_UNBOUNDED, SLICE_EMPTY,
                                       QUARRY_UNBOUNDED, SLICE_EMPTY);
    else
        f = quarry_filter_column_range(c.family, QUARRY_CLOSED, q,
                                       QUARRY_CLOSED, q);
    column_close(&c);
    return f;
}

int scan_args_columns(struct scan_args *spec,
                      const char *const *columns,
                      size_t count,
                      struct err *err)
{
    struct quarry_filter **parts;
    struct quarry_filter *chain[2];
    int rc = ERR_OK;
    size_t n = 0;
    if (count == 0)
        return ERR_OK;
    parts = mem_zalloc(count, sizeof(struct quarry_filter *));
    for (; n < count && !rc; n++) {
        parts[n] = column_filter(columns[n], err);
        if (!parts[n])
            rc = ERR_INVALID;
    }
    INVARIANT(n <= count);
    if (rc) {
        for (size_t i = 0; i < n; i++)
            quarry_filter_free(parts[i]);
    } else {
        chain[0] =
            count > 1 ? quarry_filter_interleave(parts, count) : parts[0];
        chain[1] = spec->filter;
        spec->filter = spec->filter ? quarry_filter_chain(chain, 2) : chain[0];
        spec->options.filter = spec->filter;
    }
    mem_free(parts);
    return rc;
}
