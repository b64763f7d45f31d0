/* quarry job attempts, log: where the attempts of a job ran and how they ended,
 * and what one that failed wrote last.
 */
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/cmd_job.h"
#include "cli/command.h"
#include "cli/table_printer.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/job_history.h"

#define ATTEMPTS_SHOWN 1000

static void add_attempt(struct sheet *s,
                        const struct job_attempts *a,
                        const struct attempt_record *r)
{
    struct buf name = BUF_INIT;
    attempt_name_put(r, &name);
    sheet_add(s, buf_slice(&name));
    sheet_add_str(s, attempt_kind_name(r->kind));
    sheet_add(s, attempt_list_worker(&a->list, r));
    sheet_add_str(s, attempt_end_name(r->state));
    sheet_add_u64(s, r->begun_at_us);
    sheet_addf(s, "%.3f", (double)attempt_record_took_us(r, a->now_us) / 1e6);
    sheet_add_u64(s, r->records);
    sheet_add_u64(s, r->bytes);
    sheet_add_str(s, r->has_log ? "yes" : "no");
    sheet_add(s, r->error);
    buf_close(&name);
}

static void tell_stragglers(const struct cli *cli, const struct job_attempts *a)
{
    for (size_t i = 0; i < a->straggler_count; i++) {
        const struct job_straggler *k = &a->stragglers[i];
        struct slice worker = attempt_list_worker(&a->list, &k->attempt);
        struct buf name = BUF_INIT;
        attempt_name_put(&k->attempt, &name);
        cli_remark(cli, "slow: %s on %.*s took %.1f s, the median is %.1f s",
                   buf_cstr(&name), SLICE_ARG(worker), (double)k->took_us / 1e6,
                   (double)k->median_us / 1e6);
        buf_close(&name);
    }
}

static void tell_cut(const struct cli *cli, const struct job_attempts *a)
{
    uint64_t left = a->total - MIN_OF((uint64_t)a->list.count, a->total);
    if (left > 0)
        cli_remark(cli, "%llu more: --after N leaves out the first N",
                   (unsigned long long)left);
    if (a->list.dropped > 0)
        cli_remark(cli, "%llu attempts were not remembered",
                   (unsigned long long)a->list.dropped);
}

static void print_attempts(const struct cli *cli, const struct job_attempts *a)
{
    static const struct sheet_column columns[] = {
        {"attempt", SHEET_TEXT},   {"kind", SHEET_TEXT},
        {"worker", SHEET_TEXT},    {"state", SHEET_TEXT},
        {"begun", SHEET_TIME},     {"seconds", SHEET_NUMBER},
        {"records", SHEET_NUMBER}, {"bytes", SHEET_BYTES},
        {"log", SHEET_TEXT},       {"error", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < a->list.count; i++)
        add_attempt(&s, a, &a->list.at[i]);
    sheet_print(&s, cli->format);
    sheet_close(&s);
    tell_stragglers(cli, a);
    tell_cut(cli, a);
}

/* From the history here. */
static int load_attempts(struct cli *cli,
                         const char *id,
                         uint64_t after,
                         struct buf *bytes,
                         struct job_attempts *a,
                         struct err *err)
{
    struct job_files files = {.world = cli->world};
    char *dir = job_history_dir(cli);
    char *name = NULL;
    int rc = job_history_open(cli, &files, err);
    if (rc == 0)
        rc = job_history_attempts(&files, dir, id, &name, bytes, err);
    a->now_us = world_now_us(cli->world);
    if (rc == 0)
        rc = job_attempts_digest(buf_slice(bytes), after, ATTEMPTS_SHOWN, a,
                                 err);
    job_history_close(&files);
    mem_free(name);
    mem_free(dir);
    return rc;
}

int job_run_attempts(struct cli *cli, const struct args *args, struct err *err)
{
    const char *id = args->word_count ? args->words[0] : "last";
    struct job_attempts a = {.total = 0};
    struct buf bytes = BUF_INIT;
    uint64_t after = 0;
    int rc = args_number(args, "after", 0, UINT32_MAX, &after, err);
    if (rc == 0 && job_cell_asked(cli, args))
        rc = job_cell_attempts(cli, args, id, after, ATTEMPTS_SHOWN, &bytes, &a,
                               err);
    else if (rc == 0)
        rc = load_attempts(cli, id, after, &bytes, &a, err);
    if (rc == 0)
        print_attempts(cli, &a);
    else if (rc == ERR_NOTFOUND)
        err_hint(err, "see: quarry job history");
    job_attempts_close(&a);
    buf_close(&bytes);
    return rc;
}

static int load_log(struct cli *cli,
                    const char *id,
                    const struct attempt_record *a,
                    struct buf *text,
                    struct err *err)
{
    struct job_files files = {.world = cli->world};
    char *dir = job_history_dir(cli);
    int rc = job_history_open(cli, &files, err);
    if (rc == 0)
        rc = job_history_log(&files, dir, id, a, text, err);
    job_history_close(&files);
    mem_free(dir);
    return rc;
}

int job_run_log(struct cli *cli, const struct args *args, struct err *err)
{
    const char *id = args->words[0];
    struct attempt_record a = {.part = 1};
    struct buf text = BUF_INIT;
    int rc;
    if (!attempt_name_get(slice_str(args->words[1]), &a)) {
        err_set(err, ERR_INVALID, "\"%s\" names no attempt", args->words[1]);
        err_hint(err,
                 "m3.1 is attempt 1 of map task 3; see: quarry job "
                 "attempts %s",
                 id);
        return ERR_INVALID;
    }
    rc = job_cell_asked(cli, args) ? job_cell_log(cli, args, id, &a, &text, err)
                                   : load_log(cli, id, &a, &text, err);
    if (rc == 0 && fwrite(text.data, 1, text.len, stdout) < text.len)
        rc = err_set(err, ERR_IO, "standard output");
    if (rc == ERR_NOTFOUND)
        err_hint(err, "see: quarry job attempts %s", id);
    buf_close(&text);
    return rc;
}
