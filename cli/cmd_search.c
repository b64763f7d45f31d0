/* quarry search …: an index of a Webtable's pages, and what is found in it. The
 * commands only choose the store, print and wait; web/search has the index, and
 * search_files.c finds its directory for a store of any kind.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/text.h"
#include "base/crypt/keyring.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/follow/follow.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/process_metrics.h"
#include "cli/progress.h"
#include "cli/remote_call.h"
#include "cli/search_files.h"
#include "cli/search_follower.h"
#include "cli/search_job.h"
#include "cli/table_printer.h"
#include "gfs-lite/fs.h"
#include "web/policy/archive_policy.h"
#include "web/search/pages/search_pages.h"
#include "web/search/search.h"

#define SEARCH_ADDRESS    "127.0.0.1:7490"
#define LOOK_US           UINT64_C(100000)
#define BUILD_THREADS_MAX 64

/* --- where indexes are --------------------------------------------------- */

/* The file system of the target, with the keys of a directory. Owned. */
static int search_files(struct cli *cli, struct fs **out, struct err *err)
{
    struct quarry *q;
    struct master_keys *masters = NULL;
    int rc = cli_store(cli, CLI_READ, &q, err);
    *out = NULL;
    if (!rc)
        rc = quarry_user_files(q, out, err);
    if (!rc && quarry_is_directory(q)) {
        rc = cli_master_keys(cli, &masters, err);
        if (!rc)
            rc = fs_open_keyring(*out, "KEYS", masters, false, err);
    }
    if (rc) {
        fs_close(*out);
        *out = NULL;
    }
    return rc;
}

/* --- build --------------------------------------------------------------- */

static int show_progress(void *ctx, const struct search_progress *p)
{
    struct buf extra = BUF_INIT;
    text_put_count(&extra, p->rows);
    buf_append_str(&extra, " rows, ");
    text_put_count(&extra, p->documents);
    buf_append_str(&extra, " pages");
    progress_bytes(ctx, 0, 0, buf_cstr(&extra));
    buf_close(&extra);
    return interrupted();
}

/* How a build is done, and how it was. */
struct building {
    struct search_build_options options;
    struct search_build_report report;
    struct search_job job;
    bool by_job; /* Of workers, if all rows are read. */
};

/* Readers of the rows: "job 20261124-…", or "2 threads". */
static void add_readers(const struct building *b, struct sheet *s)
{
    bool all = b->report.way == SEARCH_BUILD_ALL;
    unsigned threads = all ? b->options.threads : 1;
    if (all && b->by_job)
        sheet_addf(s, "job %s", b->job.id);
    else
        sheet_addf(s, "%u thread%s", threads, threads == 1 ? "" : "s");
}

static void print_built(struct cli *cli, const struct building *b)
{
    static const char *const ways[] = {"all rows", "compared", "changes"};
    static const struct sheet_column columns[] = {
        {"way", SHEET_TEXT},         {"rows", SHEET_NUMBER},
        {"rows_read", SHEET_NUMBER}, {"removed", SHEET_NUMBER},
        {"pages", SHEET_NUMBER},     {"index_pages", SHEET_NUMBER},
        {"segments", SHEET_NUMBER},  {"index_bytes", SHEET_BYTES},
        {"read_by", SHEET_TEXT}};
    const struct search_build_report *r = &b->report;
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_str(&s, ways[r->way]);
    sheet_add_u64(&s, r->done.rows);
    sheet_add_u64(&s, r->done.rows_read);
    sheet_add_u64(&s, r->rows_removed);
    sheet_add_u64(&s, r->done.documents);
    sheet_add_u64(&s, r->live_documents);
    sheet_add_u64(&s, r->segment_count);
    sheet_add_u64(&s, r->index_bytes);
    add_readers(b, &s);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int read_build_options(struct cli *cli,
                              const struct args *args,
                              struct building *b,
                              struct err *err)
{
    struct search_build_options *o = &b->options;
    uint64_t memory = 0;
    uint64_t threads = MIN_OF(world_cpu_count(cli->world), BUILD_THREADS_MAX);
    int rc = args_number(args, "threads", 1, BUILD_THREADS_MAX, &threads, err);
    if (!rc && args_value(args, "memory"))
        rc = text_parse_bytes(slice_str(args_value(args, "memory")), &memory,
                              err);
    o->from_scratch = args_flag(args, "from-scratch");
    o->compare = args_flag(args, "compare");
    o->memory_bytes = (size_t)memory;
    o->threads = (unsigned)threads;
    o->world = cli->world;
    b->job = (struct search_job){.cli = cli,
                                 .args = args,
                                 .table = args->words[0],
                                 .memory_bytes = memory};
    return rc;
}

/* Open the table and the files, and see who shall read. */
static int open_build(struct cli *cli,
                      const struct args *args,
                      struct building *b,
                      struct err *err)
{
    const char *table = args->words[0];
    struct quarry *q;
    int rc = cli_table(cli, table, CLI_READ, &b->options.table, err);
    if (rc) {
        b->options.table = NULL;
        return rc;
    }
    rc = cli_store(cli, CLI_READ, &q, err);
    if (!rc && !quarry_is_directory(q))
        rc = search_files_refuse_encrypted(q, table, err);
    if (!rc)
        rc = search_files(cli, &b->options.fs, err);
    if (!rc)
        rc = search_files_prepare(b->options.fs, table, err);
    if (rc)
        return rc;
    b->job.fs = b->options.fs;
    b->by_job = search_job_possible(cli, args);
    if (b->by_job) {
        b->options.make = search_job_make;
        b->options.make_ctx = &b->job;
    }
    return 0;
}

static int run_build(struct cli *cli, const struct args *args, struct err *err)
{
    struct building b = {.by_job = false};
    struct progress progress;
    int rc = read_build_options(cli, args, &b, err);
    if (!rc)
        rc = open_build(cli, args, &b, err);
    if (!rc) {
        progress_start(&progress, cli, "search build");
        b.options.progress = show_progress;
        b.options.progress_ctx = &progress;
        (void)interrupt_watch();
        rc = search_build(&b.options, &b.report, err);
        interrupt_unwatch();
        progress_end(&progress);
    }
    if (!rc)
        print_built(cli, &b);
    fs_close(b.options.fs);
    quarry_table_close(b.options.table);
    return rc;
}

static int run_drop(struct cli *cli, const struct args *args, struct err *err)
{
    const char *table = args->words[0];
    struct quarry *q;
    struct fs *fs = NULL;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc) { /* Else the follower would make it again. */
        rc = follower_drop(q, SEARCH_FOLLOWER_KIND, table, err);
        if (rc == ERR_NOTFOUND)
            rc = 0;
    }
    if (!rc)
        rc = search_files(cli, &fs, err);
    if (!rc)
        rc = search_drop(fs, table, err);
    fs_close(fs);
    return rc;
}

static int run_follow(struct cli *cli, const struct args *args, struct err *err)
{
    const char *table = args->words[0];
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = search_follower_create(q, table, err);
    if (!rc && quarry_is_directory(q))
        cli_remark(cli,
                   "quarry follow run " SEARCH_FOLLOWER_KIND
                   "/%s keeps the index right while it runs",
                   table);
    return rc;
}

/* --- search -------------------------------------------------------------- */

/* A table with its index, open. */
struct search_open {
    struct fs *fs;
    struct quarry_table *table;
    struct search_index *index;
};

static void search_open_close(struct search_open *o)
{
    search_index_close(o->index);
    quarry_table_close(o->table);
    fs_close(o->fs);
}

static int search_open(struct cli *cli,
                       const char *name,
                       struct archive_policy *policy,
                       struct search_open *out,
                       struct err *err)
{
    struct search_index_options opts = {
        .table = name, .world = cli->world, .policy = policy};
    int rc = cli_table(cli, name, CLI_READ, &out->table, err);
    if (rc) {
        out->table = NULL;
        return rc;
    }
    rc = search_files_check_reader(out->table, err);
    if (!rc)
        rc = cli_read_robots(out->table, policy, err);
    if (!rc)
        rc = search_files(cli, &out->fs, err);
    opts.fs = out->fs;
    return rc ? rc : search_index_open(&opts, &out->index, err);
}

static void print_marked(const struct search_text *t, bool bold)
{
    const char *text = t->text.data ? t->text.data : "";
    size_t at = 0;
    for (size_t i = 0; i < t->mark_count; i++) {
        fwrite(text + at, 1, t->marks[i].begin - at, stdout);
        if (bold)
            fputs("\033[1m", stdout);
        fwrite(text + t->marks[i].begin, 1, t->marks[i].end - t->marks[i].begin,
               stdout);
        if (bold)
            fputs("\033[0m", stdout);
        at = t->marks[i].end;
    }
    fwrite(text + at, 1, t->text.len - at, stdout);
    fputc('\n', stdout);
}

/* Control characters of an archived text do nothing on a terminal. */
static void make_printable(struct buf *text)
{
    for (size_t i = 0; i < text->len; i++) {
        unsigned char c = (unsigned char)text->data[i];
        bool c1 = c == 0xc2 && i + 1 < text->len &&
                  (unsigned char)text->data[i + 1] < 0xa0;
        if (c < ' ' || c == 0x7f)
            text->data[i] = '?';
        if (c1)
            text->data[i] = text->data[i + 1] = '?';
    }
}

static void
print_hit(size_t number, const struct search_hit *hit, struct search_page *page)
{
    bool bold = isatty(STDOUT_FILENO) == 1;
    struct buf time = BUF_INIT;
    make_printable(&page->url);
    make_printable(&page->title.text);
    make_printable(&page->snippet.text);
    printf("%zu. ", number);
    print_marked(&page->title, bold);
    text_put_time(&time, hit->time_us / 1000000 * 1000000);
    printf("   %.*s  %s", SLICE_ARG(buf_slice(&page->url)), buf_cstr(&time));
    if (hit->capture_count > 1)
        printf("  %u captures", hit->capture_count);
    if (hit->alike_count)
        printf("  %u alike", hit->alike_count);
    fputc('\n', stdout);
    if (page->snippet.text.len) {
        fputs("   ", stdout);
        print_marked(&page->snippet, bold);
    }
    buf_close(&time);
}

static void print_hit_json(const struct search_hit *hit,
                           const struct search_page *page)
{
    json_t *doc = search_hit_json(hit, page);
    char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(8));
    puts(text ? text : "{}");
    free(text);
    json_decref(doc);
}

static const struct sheet_column csv_columns[] = {
    {"url", SHEET_TEXT},     {"time", SHEET_TEXT}, {"title", SHEET_TEXT},
    {"score", SHEET_NUMBER}, {"row", SHEET_TEXT},  {"snippet", SHEET_TEXT}};

static void add_hit_csv(struct sheet *s,
                        const struct search_hit *hit,
                        const struct search_page *page)
{
    struct buf time = BUF_INIT;
    text_put_time(&time, hit->time_us);
    sheet_add(s, buf_slice(&page->url));
    sheet_add(s, buf_slice(&time));
    sheet_add(s, buf_slice(&page->title.text));
    sheet_addf(s, "%.6f", hit->score);
    sheet_add(s, hit->row);
    sheet_add(s, buf_slice(&page->snippet.text));
    buf_close(&time);
}

static int print_results(struct cli *cli,
                         const struct search_open *o,
                         const struct search_results *results,
                         size_t skip,
                         struct err *err)
{
    struct search_page page = {.url = BUF_INIT};
    struct sheet s;
    int rc = 0;
    sheet_init(&s, csv_columns, ARRAY_LEN(csv_columns));
    for (size_t i = 0; i < results->count && !rc; i++) {
        const struct search_hit *hit = &results->hits[i];
        rc = search_describe(o->index, o->table, results, hit, &page, err);
        if (rc)
            break;
        if (page.is_blocked)
            continue;
        switch (cli->format) {
        case FORMAT_TEXT: print_hit(skip + i + 1, hit, &page); break;
        case FORMAT_JSON: print_hit_json(hit, &page); break;
        case FORMAT_CSV: add_hit_csv(&s, hit, &page); break;
        }
    }
    if (!rc && cli->format == FORMAT_CSV)
        sheet_print(&s, cli->format);
    sheet_close(&s);
    search_page_close(&page);
    return rc;
}

static int run_query(struct cli *cli,
                     const struct args *args,
                     const struct search_open *o,
                     struct err *err)
{
    struct buf query = BUF_INIT;
    struct search_results results;
    struct search_request request = {.keep_alike = args_flag(args, "all")};
    uint64_t limit = 10;
    uint64_t skip = 0;
    int rc = args_number(args, "limit", 1, SEARCH_RESULTS_MAX, &limit, err);
    if (!rc)
        rc = args_number(args, "from", 0, SEARCH_RESULTS_MAX - limit, &skip,
                         err);
    if (rc)
        return rc;
    for (size_t i = 1; i < args->word_count; i++)
        buf_printf(&query, "%s%s", i > 1 ? " " : "", args->words[i]);
    request.query = buf_slice(&query);
    request.limit = (size_t)limit;
    request.skip = (size_t)skip;
    rc = search_run(o->index, &request, &results, err);
    if (!rc)
        rc = print_results(cli, o, &results, request.skip, err);
    if (!rc && results.count == 0)
        cli_remark(cli, "nothing found in %llu pages",
                   (unsigned long long)results.documents);
    if (!rc && results.suggestion.len)
        cli_remark(cli, "did you mean: %.*s", SLICE_ARG(results.suggestion));
    search_results_close(&results);
    buf_close(&query);
    return rc;
}

static int run_search(struct cli *cli, const struct args *args, struct err *err)
{
    struct search_open o = {.fs = NULL};
    struct archive_policy *policy;
    int rc = cli_read_policy(args, &policy, err);
    if (!rc)
        rc = search_open(cli, args->words[0], policy, &o, err);
    if (!rc)
        rc = run_query(cli, args, &o, err);
    search_open_close(&o);
    archive_policy_free(policy);
    return rc;
}

/* --- status -------------------------------------------------------------- */

static const struct sheet_column status_columns[] = {
    {"pages", SHEET_NUMBER},    {"segments", SHEET_NUMBER},
    {"bytes", SHEET_BYTES},     {"updated", SHEET_TIME},
    {"newest", SHEET_TEXT},     {"follower", SHEET_TEXT},
    {"follower_lag", SHEET_AGE}};

/* The follower that keeps the index right, and how far it is behind. */
static void add_follower(struct cli *cli, const char *table, struct sheet *s)
{
    struct follower_info *f = NULL;
    struct quarry *q;
    int rc = cli_store(cli, CLI_READ, &q, NULL);
    if (!rc)
        rc = follower_get(q, SEARCH_FOLLOWER_KIND, table, &f, NULL);
    if (rc) {
        sheet_add_str(s, "none");
        sheet_add_str(s, "");
        return;
    }
    sheet_add_str(s, f->record.paused ? "paused"
                     : f->running     ? "running"
                                      : "waiting");
    if (f->lag_us == UINT64_MAX)
        sheet_add_str(s, "");
    else
        sheet_add_u64(s, f->lag_us);
    follower_infos_free(f, 1);
}

static int run_status(struct cli *cli, const struct args *args, struct err *err)
{
    struct search_open o = {.fs = NULL};
    struct search_index_facts facts;
    struct buf newest = BUF_INIT;
    struct sheet s;
    int rc = search_open(cli, args->words[0], NULL, &o, err);
    if (!rc) {
        search_index_get_facts(o.index, &facts);
        if (facts.newest_us != INT64_MIN)
            text_put_time(&newest, facts.newest_us);
        sheet_init(&s, status_columns, ARRAY_LEN(status_columns));
        sheet_add_u64(&s, facts.documents);
        sheet_add_u64(&s, facts.segment_count);
        sheet_add_u64(&s, facts.bytes);
        sheet_add_u64(&s, facts.updated_us);
        sheet_add(&s, buf_slice(&newest));
        add_follower(cli, args->words[0], &s);
        sheet_print(&s, cli->format);
        sheet_close(&s);
    }
    buf_close(&newest);
    search_open_close(&o);
    return rc;
}

/* --- serve --------------------------------------------------------------- */

struct search_serving {
    struct cli *cli;
    struct search_server_options options;
    int rc;
    struct err *err;
};

static void serve_search(void *arg)
{
    struct search_serving *run = arg;
    struct search_server *s = NULL;
    run->rc = search_server_open(&run->options, &s, run->err);
    if (run->rc == 0) {
        printf("http://%s/\n", search_server_address(s));
        fflush(stdout);
        (void)interrupt_watch();
        while (!interrupted())
            world_sleep_us(run->cli->world, LOOK_US);
        interrupt_unwatch();
    }
    search_server_close(s);
}

static int run_serve(struct cli *cli, const struct args *args, struct err *err)
{
    struct search_open o = {.fs = NULL};
    struct search_serving run = {.cli = cli, .err = err};
    const char *listen = args_value(args, "listen");
    const char *names = args_value(args, "names");
    struct loop *loop = NULL;
    struct quarry_table *ranks = NULL;
    struct buf wombat = BUF_INIT;
    struct archive_policy *policy;
    int rc = cli_read_policy(args, &policy, err);
    if (!rc)
        rc = cli_read_wombat(NULL, &wombat, err);
    if (!rc)
        rc = search_open(cli, args->words[0], policy, &o, err);
    if (!rc)
        rc = cli_open_ranks(cli, args, &ranks, err);
    if (!rc)
        rc = loop_new(cli->world, "search", &loop, err);
    if (!rc) {
        run.options = (struct search_server_options){
            .index = o.index,
            .table = o.table,
            .ranks = ranks,
            .table_name = args->words[0],
            .address = listen ? listen : SEARCH_ADDRESS,
            .names = names ? names : listen,
            .wombat = buf_slice(&wombat),
            .policy = policy,
            .world = cli->world,
            .process_metrics = process_metrics_gather,
            .is_fixed = !remote_is_cluster(cli->target) && !cli->in_shell};
        loop_start(loop);
        loop_call(loop, "search", serve_search, &run);
        loop_stop(loop);
        loop_join(loop);
        loop_free(loop);
        rc = run.rc;
    }
    quarry_table_close(ranks);
    search_open_close(&o);
    archive_policy_free(policy);
    buf_close(&wombat);
    return rc;
}

/* --- the commands -------------------------------------------------------- */

static const struct option search_options[] = {
    {"limit", 'n', "N", "results (default: 10)"},
    {"from", 0, "N", "leave out the best N"},
    {"all", 0, NULL, "also results that say the same as a better one"},
    {"block", 0, "FILE", "captures that are not shown, as of quarry replay"},
    {"noarchive", 0, NULL, "nor those that ask not to be archived"},
    {"robots", 0, "AGENT", "nor what robots.txt, as archived, forbids it"},
    {NULL, 0, NULL, NULL},
};

static const struct option build_options[] = {
    {"from-scratch", 0, NULL, "read every row, whatever the index has"},
    {"compare", 0, NULL, "look at every row although changes are kept"},
    {"memory", 0, "BYTES",
     "postings in memory at once (default: 256MiB; 128MiB in a task)"},
    {"threads", 0, "N", "that read all rows (default: one a processor)"},
    {"here", 0, NULL,
     "of a cluster: read all rows by this process, not by workers"},
    {NULL, 0, NULL, NULL},
};

static const struct option serve_options[] = {
    {"listen", 0, "ADDRESS",
     "host:port to serve on (default: " SEARCH_ADDRESS ")"},
    {"names", 0, "NAMES", "names of this host, with commas between"},
    {"ranks", 0, "TABLE", "where page_rank wrote (default: TABLE, or rank)"},
    {"block", 0, "FILE", "captures that are not shown, as of quarry replay"},
    {"noarchive", 0, NULL, "nor those that ask not to be archived"},
    {"robots", 0, "AGENT", "nor what robots.txt, as archived, forbids it"},
    {NULL, 0, NULL, NULL},
};

const struct command search_commands[] = {
    {.name = "search",
     .arguments = "TABLE QUERY…",
     .summary = "Find archived pages by their words",
     .details =
         "Pages come first that have more of the words, or rarer ones, or "
         "have them in\ntitle, headings, address or links to the page.\n\n"
         "  \"in a row\"          these words, one after the other\n"
         "  +needed -excluded   must be there, must not\n"
         "  title:word          also url:, anchor:, body:\n"
         "  site:host           the host and those below it; -site:host\n"
         "  after:2019-05       captured then or later; before:2021\n\n"
         "quarry search build TABLE makes the index.",
     .examples = "quarry search webtable 'linked pages'\n"
                 "quarry search webtable '\"link text\" -site:example.org "
                 "after:2024'",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {search_options, remote_options},
     .run = run_search},
    {.name = "search build",
     .arguments = "TABLE",
     .summary = "Make or update the search index of a table of pages",
     .details =
         "An index that is there is brought up to date: only rows that changed "
         "are read, found\nby the changes that the table keeps, or else by a "
         "look at all but the pages of every row.\nAll rows are read by the "
         "workers of a cluster, as a job, or by threads.",
     .examples = "quarry search build webtable",
     .words_min = 1,
     .words_max = 1,
     .options = {build_options, remote_options},
     .run = run_build},
    {.name = "search follow",
     .arguments = "TABLE",
     .summary = "Keep the search index of a table right as pages arrive",
     .details =
         "Makes the follower search/TABLE: servers with the role follow, or "
         "quarry follow run,\nbring the index up to date when pages change. "
         "The table keeps its changes (quarry\ntable alter --changes). quarry "
         "follow drop search/TABLE ends it.",
     .examples = "quarry search follow webtable",
     .words_min = 1,
     .words_max = 1,
     .options = {remote_options},
     .run = run_follow},
    {.name = "search status",
     .arguments = "TABLE",
     .summary = "Show how large and how new the search index of a table is",
     .examples = "quarry search status webtable",
     .words_min = 1,
     .words_max = 1,
     .options = {remote_options},
     .run = run_status},
    {.name = "search drop",
     .arguments = "TABLE",
     .summary = "Remove the search index of a table, and what follows it",
     .examples = "quarry search drop webtable",
     .words_min = 1,
     .words_max = 1,
     .options = {remote_options},
     .run = run_drop},
    {.name = "search serve",
     .arguments = "TABLE",
     .summary = "Search in a browser; results open as they were archived",
     .details = "Serves a page for people, /search.json?q=… for programs, "
                "and the archived pages\nas quarry replay does, until Ctrl-C. "
                "A new index is used as soon as it is built.",
     .examples = "quarry search serve webtable --listen 127.0.0.1:8080",
     .words_min = 1,
     .words_max = 1,
     .options = {serve_options, remote_options},
     .run = run_serve},
    {.name = NULL},
};
