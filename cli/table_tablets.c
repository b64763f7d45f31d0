/* quarry table tablets: the tablets of a table with their servers, bytes and
 * load; or the servers, with the tablets, bytes and load of each. quarry table
 * where: the same tablets, or the one that holds a row.
 */
#include "cli/table_tablets.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/client/place.h"
#include "bigtable/quarry.h"
#include "cli/sheet_sort.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"

#define NO_SERVER "nobody"

const struct option table_tablets_options[] = {
    {"sort", 0, "COLUMN", "order by this column: numbers the largest first"},
    {NULL, 0, NULL, NULL},
};

/* The tablets and the load of one server. */
struct holder {
    char *server; /* Owned. */
    uint64_t tablets;
    uint64_t bytes;
    double reads;
    double writes;
    double traffic;
};

struct holders {
    struct holder *at;
    size_t count;
};

/* The server of the tablet that begins at @row; "" of a directory. */
static void
find_server(struct quarry_table *t, struct slice row, struct buf *out)
{
    buf_clear(out);
    if (quarry_table_locate(t, row, out, NULL)) {
        buf_clear(out);
        buf_append_str(out, NO_SERVER);
    }
}

static struct holder *holder_of(struct holders *h, const char *server)
{
    for (size_t i = 0; i < h->count; i++)
        if (strcmp(h->at[i].server, server) == 0)
            return &h->at[i];
    h->at = mem_realloc(h->at, (h->count + 1) * sizeof(*h->at));
    h->at[h->count] = (struct holder){.server = mem_strdup(server)};
    return &h->at[h->count++];
}

static void table_tablets_hold(struct holder *h,
                               const struct quarry_tablet_info *tablet)
{
    h->tablets++;
    h->bytes += tablet->bytes;
    h->reads += tablet->reads_per_s;
    h->writes += tablet->writes_per_s;
    h->traffic += tablet->bytes_per_s;
}

/* Three cells. */
static void
add_rates(struct sheet *s, double reads, double writes, double bytes)
{
    sheet_addf(s, "%.1f", reads);
    sheet_addf(s, "%.1f", writes);
    sheet_add_u64(s, (uint64_t)(bytes + 0.5));
}

static bool table_tablets_has(const struct quarry_tablet_info *t,
                              struct slice row)
{
    return slice_cmp(t->start, row) <= 0 &&
           (t->end.len == 0 || slice_cmp(row, t->end) < 0);
}

/* The tablets of @name, or the one with *@row (NULL: all), into @s if it is
 * given and into @h. */
static int visit_table(struct quarry *q,
                       const char *name,
                       const struct slice *row,
                       struct sheet *s,
                       struct holders *h,
                       struct err *err)
{
    struct quarry_table_info *info;
    struct quarry_table *t;
    struct buf server = BUF_INIT;
    int rc = quarry_table_open(q, name, &t, err);
    if (rc)
        return rc;
    rc = quarry_table_describe(q, name, &info, err);
    for (size_t i = 0; !rc && i < info->tablet_count; i++) {
        const struct quarry_tablet_info *tablet = &info->tablets[i];
        if (row && !table_tablets_has(tablet, *row))
            continue;
        find_server(t, tablet->start, &server);
        table_tablets_hold(holder_of(h, buf_cstr(&server)), tablet);
        if (!s)
            continue;
        sheet_add_u64(s, i + 1);
        sheet_add(s, buf_slice(&server));
        sheet_add_u64(s, tablet->bytes);
        add_rates(s, tablet->reads_per_s, tablet->writes_per_s,
                  tablet->bytes_per_s);
        sheet_add(s, tablet->start);
        sheet_add(s, tablet->end);
    }
    if (!rc)
        quarry_table_info_free(info);
    quarry_table_close(t);
    buf_close(&server);
    return rc;
}

static int by_server(const void *a, const void *b)
{
    return strcmp(((const struct holder *)a)->server,
                  ((const struct holder *)b)->server);
}

static int print_holders(struct cli *cli,
                         const struct args *args,
                         struct holders *h,
                         struct err *err)
{
    static const struct sheet_column columns[] = {
        {"server", SHEET_TEXT},         {"tablets", SHEET_NUMBER},
        {"bytes", SHEET_BYTES},         {"reads_per_s", SHEET_NUMBER},
        {"writes_per_s", SHEET_NUMBER}, {"bytes_per_s", SHEET_BYTES}};
    struct sheet s;
    int rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    if (h->count)
        qsort(h->at, h->count, sizeof(*h->at), by_server);
    for (size_t i = 0; i < h->count; i++) {
        sheet_add_str(&s, h->at[i].server);
        sheet_add_u64(&s, h->at[i].tablets);
        sheet_add_u64(&s, h->at[i].bytes);
        add_rates(&s, h->at[i].reads, h->at[i].writes, h->at[i].traffic);
    }
    rc = sheet_sort(&s, args, err);
    if (!rc)
        sheet_print(&s, cli->format);
    sheet_close(&s);
    return rc;
}

static int all_tables(struct quarry *q, struct holders *h, struct err *err)
{
    char **names;
    size_t count;
    int rc = quarry_table_list(q, &names, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && !rc; i++) {
        rc = visit_table(q, names[i], NULL, NULL, h, err);
        if (rc == ERR_NOTFOUND) /* Dropped meanwhile. */
            rc = 0;
    }
    quarry_names_free(names, count);
    return rc;
}

static int one_table(struct cli *cli,
                     struct quarry *q,
                     const struct args *args,
                     const struct slice *row,
                     struct holders *h,
                     struct err *err)
{
    static const struct sheet_column columns[] = {
        {"tablet", SHEET_NUMBER},       {"server", SHEET_TEXT},
        {"bytes", SHEET_BYTES},         {"reads_per_s", SHEET_NUMBER},
        {"writes_per_s", SHEET_NUMBER}, {"bytes_per_s", SHEET_BYTES},
        {"start", SHEET_TEXT},          {"end", SHEET_TEXT}};
    struct sheet s;
    int rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    rc = visit_table(q, args->words[0], row, &s, h, err);
    if (rc)
        cli_hint_table(cli, args->words[0], err);
    else
        rc = sheet_sort(&s, args, err);
    if (!rc)
        sheet_print(&s, cli->format);
    sheet_close(&s);
    return rc;
}

static void holders_close(struct holders *h)
{
    for (size_t i = 0; i < h->count; i++)
        mem_free(h->at[i].server);
    mem_free(h->at);
}

int table_where_run(struct cli *cli, const struct args *args, struct err *err)
{
    struct holders h = {NULL, 0};
    struct buf row = BUF_INIT;
    struct slice wanted;
    struct quarry *q;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (rc)
        return rc;
    if (args->word_count > 1)
        argument_unescape(&row, slice_str(args->words[1]));
    wanted = buf_slice(&row);
    rc =
        one_table(cli, q, args, args->word_count > 1 ? &wanted : NULL, &h, err);
    holders_close(&h);
    buf_close(&row);
    return rc;
}

int table_tablets_run(struct cli *cli, const struct args *args, struct err *err)
{
    struct holders h = {NULL, 0};
    struct quarry *q;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (rc)
        return rc;
    if (args->word_count > 0) {
        rc = one_table(cli, q, args, NULL, &h, err);
    } else {
        rc = all_tables(q, &h, err);
        if (!rc)
            rc = print_holders(cli, args, &h, err);
    }
    holders_close(&h);
    return rc;
}
