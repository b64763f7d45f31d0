/* quarry index: making secondary indexes, looking rows up by them, checking
 * them.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "bigtable/quarry_index.h"
#include "cli/cli.h"
#include "cli/column.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/row_printer.h"
#include "cli/scan_args.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"

/* --- progress ------------------------------------------------------------ */

static bool go_on(void *ctx, uint64_t rows)
{
    char text[40];
    PRE(ctx);
    snprintf(text, sizeof(text), "%llu rows", (unsigned long long)rows);
    progress_bytes(ctx, rows, 0, text);
    return !interrupted();
}

/* --- create -------------------------------------------------------------- */

static const struct option create_options[] = {
    {"name", 0, "NAME", "its name (default: the columns, as contact_mail)"},
    {NULL, 0, NULL, NULL},
};

/* The definition as it is written: columns, with commas, and UNIQUE. */
struct definition {
    struct column parsed[QUARRY_INDEX_COLUMNS_MAX];
    struct quarry_index_column columns[QUARRY_INDEX_COLUMNS_MAX];
    size_t count;
    bool unique;
    struct buf name;
};

static void definition_close(struct definition *d)
{
    for (size_t i = 0; i < d->count; i++)
        column_close(&d->parsed[i]);
    buf_close(&d->name);
}

static int
definition_add(struct definition *d, struct slice text, struct err *err)
{
    struct column *c = &d->parsed[d->count];
    int rc;
    if (d->count == QUARRY_INDEX_COLUMNS_MAX)
        return err_set(err, ERR_INVALID, "an index has at most %d columns",
                       QUARRY_INDEX_COLUMNS_MAX);
    rc = column_parse(text, c, err);
    if (rc)
        return rc;
    d->count++;
    POST(d->count <= QUARRY_INDEX_COLUMNS_MAX);
    if (c->whole_family)
        return err_set(err, ERR_INVALID,
                       "an index is on columns, FAMILY:QUALIFIER: %.*s is a "
                       "family",
                       SLICE_ARG(text));
    d->columns[d->count - 1] =
        (struct quarry_index_column){c->family, buf_slice(&c->qualifier)};
    return 0;
}

/* One word behind BY, which may have several columns. */
static int
definition_word(struct definition *d, const char *word, struct err *err)
{
    struct slice rest = slice_str(word);
    int rc = 0;
    PRE(d->count <= QUARRY_INDEX_COLUMNS_MAX);
    while (rest.len > 0 && rc == 0) {
        size_t comma = slice_find_byte(rest, ',');
        struct slice one = slice_trim(slice_sub(rest, 0, comma));
        rest = slice_sub(rest, MIN_OF(comma + 1, rest.len), rest.len);
        if (one.len)
            rc = definition_add(d, one, err);
    }
    return rc;
}

/* "contact_mail" of contact:mail. */
static void default_name(struct definition *d)
{
    for (size_t i = 0; i < d->count; i++) {
        struct slice q = d->columns[i].qualifier;
        buf_printf(&d->name, "%s%s%s", i ? "_" : "", d->columns[i].family,
                   q.len ? "_" : "");
        for (size_t k = 0; k < q.len; k++) {
            char c = q.data[k];
            bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '-';
            buf_append_byte(&d->name, plain ? c : '_');
        }
    }
    for (size_t i = 0; i < d->name.len; i++)
        if (d->name.data[i] == '.')
            d->name.data[i] = '_';
}

static int
definition_parse(const struct args *args, struct definition *d, struct err *err)
{
    const char *name = args_value(args, "name");
    int rc = 0;
    if (strcasecmp(args->words[1], "by") != 0)
        return usage_error(args, err,
                           "\"%s\": BY and the columns follow the table",
                           args->words[1]);
    for (size_t i = 2; i < args->word_count && rc == 0; i++) {
        if (strcasecmp(args->words[i], "include") == 0)
            return err_set(err, ERR_UNSUPPORTED,
                           "INCLUDE: an index keeps no other columns, since "
                           "each row is looked at where it is");
        if (strcasecmp(args->words[i], "unique") == 0)
            d->unique = true;
        else
            rc = definition_word(d, args->words[i], err);
    }
    if (rc == 0 && d->count == 0)
        rc = usage_error(args, err, "it needs a column: FAMILY:QUALIFIER");
    if (name)
        buf_append_str(&d->name, name);
    else
        default_name(d);
    return rc;
}

static int run_create(struct cli *cli, const struct args *args, struct err *err)
{
    struct definition d = {.count = 0};
    struct progress p;
    struct quarry *q;
    int rc = definition_parse(args, &d, err);
    if (rc == 0)
        rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc == 0) {
        struct quarry_index_spec spec = {.table = args->words[0],
                                         .name = buf_cstr(&d.name),
                                         .columns = d.columns,
                                         .column_count = d.count,
                                         .unique = d.unique};
        (void)interrupt_watch();
        progress_start(&p, cli, "index");
        rc = quarry_index_create(q, &spec, go_on, &p, err);
        progress_end(&p);
        if (rc == ERR_CANCELLED || rc == ERR_UNAVAILABLE)
            err_hint(err, "the same command continues");
    }
    if (rc == 0)
        cli_remark(cli, "index %s of %s is ready", buf_cstr(&d.name),
                   args->words[0]);
    definition_close(&d);
    return rc;
}

/* --- list, describe ------------------------------------------------------ */

static void put_columns(const struct quarry_index_info *i, struct buf *out)
{
    for (size_t k = 0; k < i->column_count; k++)
        buf_printf(out, "%s%s:%.*s", k ? ", " : "", i->columns[k].family,
                   SLICE_ARG(i->columns[k].qualifier));
}

static void list_row(struct sheet *s, const struct quarry_index_info *i)
{
    struct buf columns = BUF_INIT;
    PRE(i->name);
    PRE(i->table);
    PRE(i->column_count > 0);
    put_columns(i, &columns);
    sheet_add_str(s, i->table);
    sheet_add_str(s, i->name);
    sheet_add(s, buf_slice(&columns));
    sheet_add_str(s, i->unique ? "yes" : "no");
    sheet_add_str(s, i->ready ? "ready" : "building");
    sheet_add_str(s, i->entries);
    buf_close(&columns);
}

static int run_list(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"table", SHEET_TEXT},  {"index", SHEET_TEXT}, {"columns", SHEET_TEXT},
        {"unique", SHEET_TEXT}, {"state", SHEET_TEXT}, {"entries", SHEET_TEXT}};
    const char *table = args->word_count ? args->words[0] : NULL;
    struct quarry_index_list *list;
    struct quarry *q;
    struct sheet s;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (rc == 0)
        rc = quarry_index_list(q, table, &list, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < list->count; i++)
        list_row(&s, &list->list[i]);
    sheet_print(&s, cli->format);
    sheet_close(&s);
    quarry_index_list_free(list);
    return 0;
}

/* --- drop, rebuild, check ------------------------------------------------ */

static int run_drop(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc == 0)
        rc = quarry_index_drop(q, args->words[0], args->words[1], err);
    if (rc == 0)
        cli_remark(cli, "index %s of %s was dropped", args->words[1],
                   args->words[0]);
    return rc;
}

static int
run_rebuild(struct cli *cli, const struct args *args, struct err *err)
{
    struct progress p;
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc)
        return rc;
    (void)interrupt_watch();
    progress_start(&p, cli, "index");
    rc =
        quarry_index_rebuild(q, args->words[0], args->words[1], go_on, &p, err);
    progress_end(&p);
    if (rc == 0)
        cli_remark(cli, "index %s of %s is ready", args->words[1],
                   args->words[0]);
    return rc;
}

static const struct option check_options[] = {
    {"mend", 0, NULL, "remove what is stale, add what is missing"},
    {NULL, 0, NULL, NULL},
};

static void print_report(struct cli *cli, const struct quarry_index_report *r)
{
    static const struct sheet_column columns[] = {
        {"rows", SHEET_NUMBER},    {"entries", SHEET_NUMBER},
        {"missing", SHEET_NUMBER}, {"twice", SHEET_NUMBER},
        {"stale", SHEET_NUMBER},   {"mended", SHEET_NUMBER}};
    const uint64_t values[] = {r->rows,  r->entries, r->missing,
                               r->twice, r->stale,   r->mended};
    struct sheet s;
    STATIC_ASSERT(ARRAY_LEN(values) == ARRAY_LEN(columns), "one each");
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        sheet_add_u64(&s, values[i]);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int run_check(struct cli *cli, const struct args *args, struct err *err)
{
    bool mend = args_flag(args, "mend");
    struct quarry_index_report r;
    struct progress p;
    struct quarry *q;
    int rc = cli_store(cli, mend ? CLI_EXISTING : CLI_READ, &q, err);
    if (rc)
        return rc;
    (void)interrupt_watch();
    progress_start(&p, cli, "check");
    rc = quarry_index_check(q, args->words[0], args->words[1], mend, &r, go_on,
                            &p, err);
    progress_end(&p);
    if (rc)
        return rc;
    print_report(cli, &r);
    if (r.missing && !mend)
        cli->status = 1;
    return 0;
}

/* --- lookup -------------------------------------------------------------- */

static const struct option lookup_options[] = {
    {"from", 0, "VALUE", "next column: at least this"},
    {"to", 0, "VALUE", "next column: less than this"},
    {"prefix", 'p', "VALUE", "next column: begins with this"},
    {"limit", 'n', "N", "at most N rows"},
    {"keys-only", 'k', NULL, "no values"},
    {NULL, 0, NULL, NULL},
};

struct lookup {
    struct slice equal[QUARRY_INDEX_COLUMNS_MAX];
    struct buf bytes[QUARRY_INDEX_COLUMNS_MAX + 3];
    size_t byte_count;
    struct quarry_index_query query;
};

static struct slice index_unescape(struct lookup *l, const char *text)
{
    struct buf *b = &l->bytes[l->byte_count++];
    PRE(l->byte_count <= ARRAY_LEN(l->bytes));
    argument_unescape(b, slice_str(text));
    return buf_slice(b);
}

static int
lookup_parse(const struct args *args, struct lookup *l, struct err *err)
{
    const char *from = args_value(args, "from");
    const char *to = args_value(args, "to");
    const char *prefix = args_value(args, "prefix");
    PRE(args->word_count >= 2);
    l->query.index = args->words[1];
    l->query.equal = l->equal;
    if (args->word_count - 2 > QUARRY_INDEX_COLUMNS_MAX)
        return usage_error(args, err, "more values than an index has columns");
    if (prefix && (from || to))
        return usage_error(args, err, "--prefix or --from and --to");
    for (size_t i = 2; i < args->word_count; i++)
        l->equal[l->query.equal_count++] = index_unescape(l, args->words[i]);
    if (from) {
        l->query.lower_kind = QUARRY_CLOSED;
        l->query.lower = index_unescape(l, from);
    }
    if (to) {
        l->query.upper_kind = QUARRY_OPEN;
        l->query.upper = index_unescape(l, to);
    }
    if (prefix)
        l->query.prefix = index_unescape(l, prefix);
    return 0;
}

static int print_rows(struct cli *cli,
                      struct quarry_table *t,
                      const struct lookup *l,
                      const struct quarry_read_options *o,
                      struct err *err)
{
    const struct quarry_row *row;
    struct quarry_scanner *rows;
    struct row_printer p;
    int rc = quarry_index_scan(t, &l->query, o, &rows, err);
    if (rc)
        return rc;
    row_printer_init(&p, cli->format, o->keys_only, 0);
    while ((rc = quarry_scanner_next(rows, &row, err)) == 0 && row &&
           !interrupted() && !ferror(stdout))
        row_printer_row(&p, row);
    row_printer_close(&p);
    quarry_scanner_close(rows);
    return rc;
}

static int run_lookup(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_read_options o = {.keys_only = args_flag(args, "keys-only")};
    struct lookup l = {.byte_count = 0};
    struct quarry_table *t = NULL;
    int rc = args_number(args, "limit", 1, UINT64_MAX, &o.row_limit, err);
    if (rc == 0)
        rc = lookup_parse(args, &l, err);
    if (rc == 0)
        rc = cli_table(cli, args->words[0], CLI_READ, &t, err);
    if (rc == 0)
        rc = print_rows(cli, t, &l, &o, err);
    if (t)
        quarry_table_close(t);
    for (size_t i = 0; i < l.byte_count; i++)
        buf_close(&l.bytes[i]);
    return rc;
}

/* --- the commands -------------------------------------------------------- */

const struct command index_commands[] = {
    {.name = "index create",
     .arguments = "TABLE BY FAMILY:COLUMN[, …] [UNIQUE]",
     .summary = "Make an index of a table's columns, while it is used",
     .details =
         "Rows are found by the newest values of these columns: see `quarry\n"
         "index lookup` and --where of `quarry scan`. Every write keeps the\n"
         "index from then on; with UNIQUE, one that would give a second row\n"
         "the same values fails. If it is stopped, the same command "
         "continues.",
     .examples = "quarry index create people BY contact:mail UNIQUE\n"
                 "quarry index create people BY name:last, name:first "
                 "--name names",
     .words_min = 3,
     .words_max = WORDS_ANY,
     .options = {create_options},
     .run = run_create},
    {.name = "index list",
     .arguments = "[TABLE]",
     .summary = "List the indexes of a table, or of all",
     .examples = "quarry index list people",
     .words_max = 1,
     .run = run_list},
    {.name = "index lookup",
     .arguments = "TABLE INDEX [VALUE…]",
     .summary = "Print the rows that have these values",
     .details = "A value for each column of the index, from the first on; of\n"
                "the next column, --from, --to or --prefix.",
     .examples = "quarry index lookup people contact_mail ann@example.org\n"
                 "quarry index lookup people names Smith --prefix A",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {lookup_options},
     .run = run_lookup},
    {.name = "index check",
     .arguments = "TABLE INDEX [--mend]",
     .summary = "Compare an index with its table, in both directions",
     .details =
         "Rows without their entry (missing) are a defect: the exit status is\n"
         "1. Entries of values that rows have no more (stale) are left by\n"
         "writers that died; look-ups skip them.",
     .examples = "quarry index check people contact_mail --mend",
     .words_min = 2,
     .words_max = 2,
     .options = {check_options},
     .run = run_check},
    {.name = "index rebuild",
     .arguments = "TABLE INDEX",
     .summary = "Make an index again from the rows of its table",
     .examples = "quarry index rebuild people contact_mail",
     .words_min = 2,
     .words_max = 2,
     .run = run_rebuild},
    {.name = "index drop",
     .arguments = "TABLE INDEX",
     .summary = "Drop an index; the table stays",
     .examples = "quarry index drop people contact_mail",
     .words_min = 2,
     .words_max = 2,
     .run = run_drop},
    {.name = NULL},
};
