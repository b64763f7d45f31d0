/* Statements of a transaction, each a line of words, and `quarry txn`, which
 * runs a script of them.
 */
#include "cli/txn_session.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry_txn.h"
#include "cli/cli.h"
#include "cli/column.h"
#include "cli/command.h"
#include "cli/line_reader.h"
#include "cli/row_printer.h"
#include "cli/text_form.h"
#include "cli/word_split.h"

#define TABLES_MAX 64

struct txn_session {
    struct cli *cli;
    struct quarry_txn *txn;
    struct quarry_table *tables[TABLES_MAX]; /* Open as long as it is. */
    size_t table_count;
};

int txn_session_begin(struct cli *cli,
                      bool serializable,
                      struct txn_session **out,
                      struct err *err)
{
    /* Somebody types: as long as a transaction may take. */
    const struct quarry_txn_options opts = {.serializable = serializable,
                                            .timeout_us = QUARRY_TXN_US_MAX};
    struct txn_session *s;
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    *out = NULL;
    if (rc)
        return rc;
    s = mem_zalloc(1, sizeof(*s));
    s->cli = cli;
    rc = quarry_txn_begin(q, &opts, &s->txn, err);
    if (rc)
        mem_free(s);
    else
        *out = s;
    return rc;
}

void txn_session_close(struct txn_session *s)
{
    if (!s)
        return;
    quarry_txn_close(s->txn);
    for (size_t i = 0; i < s->table_count; i++)
        quarry_table_close(s->tables[i]);
    mem_free(s);
}

static int open_table(struct txn_session *s,
                      const char *name,
                      struct quarry_table **out,
                      struct err *err)
{
    int rc;
    for (size_t i = 0; i < s->table_count; i++)
        if (strcmp(quarry_table_name(s->tables[i]), name) == 0) {
            *out = s->tables[i];
            return 0;
        }
    if (s->table_count == TABLES_MAX)
        return err_set(err, ERR_TOOBIG, "a transaction has at most %d tables",
                       TABLES_MAX);
    rc = cli_table(s->cli, name, CLI_EXISTING, out, err);
    if (rc == 0)
        s->tables[s->table_count++] = *out;
    return rc;
}

/* --- statements ---------------------------------------------------------- */

/* One statement, taken apart. */
struct statement {
    struct txn_session *session;
    const char *const *words; /* Behind the table and the row. */
    size_t count;
    struct quarry_table *table;
    struct buf row;
};

static bool is_of_column(const struct quarry_cell *cell, const struct column *c)
{
    return slice_eq_str(cell->family, c->family) &&
           (c->whole_family ||
            slice_eq(cell->qualifier, buf_slice(&c->qualifier)));
}

static int txn_session_get(struct statement *st, struct err *err)
{
    struct row_printer p;
    struct quarry_row *row;
    struct quarry_cell *cells;
    struct column c = {.family = NULL};
    size_t n = 0;
    int rc = quarry_txn_read_row(st->session->txn, st->table,
                                 buf_slice(&st->row), &row, err);
    if (rc)
        return rc;
    if (st->count) {
        rc = column_parse(slice_str(st->words[0]), &c, err);
        if (rc) {
            quarry_row_free(row);
            return rc;
        }
    }
    row_printer_init(&p, st->session->cli->format, false, 0);
    cells = mem_alloc(((row ? row->cell_count : 0) + 1) * sizeof(*cells));
    for (size_t i = 0; row && i < row->cell_count; i++)
        if (!st->count || is_of_column(&row->cells[i], &c))
            cells[n++] = row->cells[i];
    if (n)
        row_printer_row(&p, &(struct quarry_row){row->key, cells, n});
    row_printer_close(&p);
    mem_free(cells);
    if (st->count)
        column_close(&c);
    quarry_row_free(row);
    return 0;
}

static int txn_session_scan(struct statement *st, struct err *err)
{
    struct quarry_txn_scanner *s;
    const struct quarry_row *row;
    struct row_printer p;
    struct buf end = BUF_INIT;
    int rc;
    if (st->count)
        argument_unescape(&end, slice_str(st->words[0]));
    rc = quarry_txn_scan(st->session->txn, st->table, buf_slice(&st->row),
                         buf_slice(&end), &s, err);
    if (rc == 0) {
        row_printer_init(&p, st->session->cli->format, false, 0);
        do {
            rc = quarry_txn_scanner_next(s, &row, err);
            if (rc == 0 && row)
                row_printer_row(&p, row);
        } while (rc == 0 && row);
        row_printer_close(&p);
        quarry_txn_scanner_close(s);
    }
    buf_close(&end);
    return rc;
}

static int txn_session_put(struct statement *st, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < st->count && rc == 0; i++) {
        struct assignment a;
        rc = assignment_parse(st->words[i], &a, err);
        if (rc)
            break;
        rc = quarry_txn_put(st->session->txn, st->table, buf_slice(&st->row),
                            a.column.family, buf_slice(&a.column.qualifier),
                            buf_slice(&a.value), err);
        assignment_close(&a);
    }
    return rc;
}

static int
delete_column(struct statement *st, const char *word, struct err *err)
{
    struct quarry_mutation *m;
    struct column c;
    int rc = column_parse(slice_str(word), &c, err);
    if (rc)
        return rc;
    m = quarry_mutation_new(buf_slice(&st->row));
    if (c.whole_family)
        quarry_mutation_delete_family(m, c.family);
    else
        quarry_mutation_delete_cells(m, c.family, buf_slice(&c.qualifier), 0,
                                     0);
    rc = quarry_txn_apply(st->session->txn, st->table, m, err);
    quarry_mutation_free(m);
    column_close(&c);
    return rc;
}

static int txn_session_delete(struct statement *st, struct err *err)
{
    int rc = 0;
    if (st->count == 0)
        rc = quarry_txn_delete(st->session->txn, st->table, buf_slice(&st->row),
                               NULL, SLICE_EMPTY, err);
    for (size_t i = 0; i < st->count && rc == 0; i++)
        rc = delete_column(st, st->words[i], err);
    return rc;
}

static const struct {
    const char *name;
    size_t words_min; /* Without the name. */
    size_t words_max;
    int (*run)(struct statement *st, struct err *err); /* NULL: an end. */
} statements[] = {
    {"get", 2, 3, txn_session_get},
    {"scan", 1, 3, txn_session_scan},
    {"put", 3, WORDS_ANY, txn_session_put},
    {"delete", 2, WORDS_ANY, txn_session_delete},
    {"commit", 0, 0, NULL},
    {"rollback", 0, 0, NULL},
};

static size_t find_statement(const char *word)
{
    size_t i = 0;
    while (i < ARRAY_LEN(statements) && strcmp(statements[i].name, word) != 0)
        i++;
    return i;
}

bool txn_session_knows(const char *word)
{
    return find_statement(word) < ARRAY_LEN(statements);
}

static int end_session(struct txn_session *s, bool commit, struct err *err)
{
    int64_t committed = 0;
    int rc = commit ? quarry_txn_commit(s->txn, &committed, err) : 0;
    if (rc == ERR_CONFLICT)
        err_hint(err, "begin again");
    return rc;
}

int txn_session_run(struct txn_session *s,
                    const struct word_list *words,
                    bool *ended,
                    struct err *err)
{
    struct statement st = {.session = s, .row = BUF_INIT};
    size_t n = words->count - 1;
    size_t i;
    int rc;
    PRE(words->count > 0);
    *ended = false;
    i = find_statement(words->words[0]);
    if (i == ARRAY_LEN(statements))
        return err_set(err, ERR_USAGE,
                       "'%s' is no statement of a transaction: there are get, "
                       "scan, put, delete, commit, rollback",
                       words->words[0]);
    if (n < statements[i].words_min || n > statements[i].words_max)
        return err_set(err, ERR_USAGE,
                       "%s: wrong number of words (see: "
                       "quarry txn --help)",
                       words->words[0]);
    if (!statements[i].run) {
        *ended = true;
        return end_session(s, words->words[0][0] == 'c', err);
    }
    rc = open_table(s, words->words[1], &st.table, err);
    if (rc)
        return rc;
    if (n > 1)
        argument_unescape(&st.row, slice_str(words->words[2]));
    st.words = words->words + (n > 1 ? 3 : 2);
    st.count = n > 2 ? n - 2 : 0;
    rc = statements[i].run(&st, err);
    buf_close(&st.row);
    return rc;
}

/* --- quarry txn ---------------------------------------------------------- */

static const struct option txn_options[] = {
    {"serializable", 0, NULL,
     "nothing that it reads may change until it commits"},
    {"sweep", 0, NULL,
     "run no script: finish what clients that died have left"},
    {NULL, 0, NULL, NULL},
};

static int run_script(struct txn_session *s,
                      struct line_reader *r,
                      bool *ended,
                      struct err *err)
{
    struct word_list words;
    struct slice line;
    bool more = true;
    int rc = 0;
    while (rc == 0 && !*ended) {
        rc = line_reader_next(r, &line, &more, err);
        if (rc || !more)
            return rc;
        rc = words_split(line, &words, err);
        if (rc)
            return rc;
        if (words.count)
            rc = txn_session_run(s, &words, ended, err);
        words_free(&words);
    }
    return rc;
}

static int run_sweep(struct cli *cli, struct err *err)
{
    struct quarry_txn_sweep found;
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc == 0)
        rc = quarry_txn_sweep(q, NULL, &found, err);
    if (rc == 0)
        printf("locks: %llu, resolved: %llu; statuses: %llu\n",
               (unsigned long long)found.locks,
               (unsigned long long)found.resolved,
               (unsigned long long)found.statuses);
    return rc;
}

static int run_txn(struct cli *cli, const struct args *args, struct err *err)
{
    const char *path = args->word_count ? args->words[0] : "-";
    struct txn_session *s;
    struct line_reader r;
    bool ended = false;
    int rc;
    if (args_flag(args, "sweep"))
        return run_sweep(cli, err);
    rc = line_reader_open(&r, path, err);
    if (rc)
        return rc;
    rc = txn_session_begin(cli, args_flag(args, "serializable"), &s, err);
    if (rc == 0)
        rc = run_script(s, &r, &ended, err);
    if (rc && r.line_count)
        err_wrap(err, "line %llu", (unsigned long long)r.line_count);
    if (rc == 0 && !ended)
        rc = end_session(s, true, err);
    txn_session_close(s);
    line_reader_close(&r);
    return rc;
}

const struct command txn_commands[] = {
    {.name = "txn",
     .arguments = "[SCRIPT]",
     .summary = "Run statements as one transaction",
     .details =
         "Statements are lines of the script, or of standard input:\n\n"
         "    get TABLE ROW [COLUMN]\n"
         "    scan TABLE [START [END]]\n"
         "    put TABLE ROW FAMILY:QUALIFIER=VALUE…\n"
         "    delete TABLE ROW [COLUMN…]\n"
         "    commit\n"
         "    rollback\n\n"
         "All of them see one snapshot, and all writes are made together, at\n"
         "commit or at the end, or none of them is. In the shell begin begins\n"
         "one. Tables take part by --transactions of table create or alter.",
     .examples = "quarry txn transfer.txt\n"
                 "quarry txn --sweep\n"
                 "printf 'put a x f:q=1\\nput b y f:q=1\\n' | quarry txn",
     .words_max = 1,
     .options = {txn_options},
     .run = run_txn},
    {.name = NULL},
};
