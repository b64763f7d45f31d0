/* quarry import cc: pages of a crawl in the layout of Common Crawl, by URL. The
 * index is asked which records hold them, these alone are fetched into a file
 * without a name, and imported from it. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/import_report.h"
#include "cli/interrupt.h"
#include "cli/remote_fs.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/objects.h"
#include "mapreduce/ingest/cc_fetch.h"
#include "mapreduce/ingest/ingest.h"
#include "mapreduce/warc/date.h"

#define BASE_DEFAULT  "https://data.commoncrawl.org/"
#define LIMIT_DEFAULT 1000

struct cc_import {
    struct cli *cli;
    const struct args *args;
    struct cc_question question;
    struct buf base; /* The path of the crawl below the root. */
    struct fs *fs;
    struct buf root;
    bool is_remote;
    struct cc_list list;
    int fd; /* Of the records; -1: not open. */
    struct ingest_part *parts;
};

/* --- options ------------------------------------------------------------- */

/* A date of 1 to 14 digits; of the end of a period, the first moment behind. */
static int cc_date(const struct args *args,
                   const char *name,
                   bool is_end,
                   int64_t *us,
                   struct err *err)
{
    const char *text = args_value(args, name);
    int64_t span;
    if (!text)
        return 0;
    if (!date_parse_span(slice_str(text), us, &span))
        return usage_error(args, err, "--%s: '%s' is no date", name, text);
    *us += is_end ? span : 0;
    return 0;
}

static int cc_options(struct cc_import *m, struct err *err)
{
    const struct args *args = m->args;
    struct cc_question *q = &m->question;
    uint64_t status = 0;
    int rc = args_number(args, "status", 100, 999, &status, err);
    q->limit = LIMIT_DEFAULT;
    q->from_us = INT64_MIN;
    q->to_us = INT64_MAX;
    q->mime = args_value(args, "mime");
    q->crawl = args_value(args, "crawl");
    if (rc == 0)
        rc = args_number(args, "limit", 1, CC_CAPTURES_MAX, &q->limit, err);
    if (rc == 0)
        rc = cc_date(args, "since", false, &q->from_us, err);
    if (rc == 0)
        rc = cc_date(args, "until", true, &q->to_us, err);
    q->status = (unsigned)status;
    if (rc)
        return rc;
    if (!q->crawl)
        return usage_error(args, err,
                           "of which crawl? --crawl CC-MAIN-YEAR-WEEK");
    if (!*q->crawl || strpbrk(q->crawl, "/?#%") || strstr(q->crawl, ".."))
        return usage_error(args, err, "--crawl: '%s' is no name of a crawl",
                           q->crawl);
    if (!args_flag(args, "into") && !args_flag(args, "list"))
        return usage_error(args, err,
                           "into which table? --into TABLE, or "
                           "--list");
    return 0;
}

/* --- where the crawl is -------------------------------------------------- */

static int open_crawl(struct cc_import *m, struct err *err)
{
    const char *base = args_value(m->args, "base");
    const char *path;
    int rc;
    if (!base)
        base = BASE_DEFAULT;
    m->is_remote = fs_name_is_remote(base);
    if (m->is_remote) {
        path = fs_remote_path(base);
        rc = remote_fs_open(m->cli->world, base, &m->fs, &m->root, err);
    } else {
        path = "";
        rc = access(base, R_OK)
                 ? err_set_errno(err, errno, "%s", base)
                 : fs_local_open(m->cli->world, base, &m->fs, err);
    }
    while (*path == '/')
        path++;
    buf_append_str(&m->base, path);
    if (m->base.len && m->base.data[m->base.len - 1] != '/')
        buf_append_byte(&m->base, '/');
    m->question.base = buf_cstr(&m->base);
    return rc;
}

static void close_crawl(struct cc_import *m)
{
    if (m->fs && m->is_remote)
        remote_fs_close(m->cli, m->fs, buf_cstr(&m->root));
    else
        fs_close(m->fs);
    m->fs = NULL;
}

/* --- records ------------------------------------------------------------- */

/* A file without a name, which goes with the process. */
static int open_records(struct cc_import *m, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    struct buf name = BUF_INIT;
    int rc = 0;
    buf_printf(&name, "%s/quarry-import-XXXXXX", dir && *dir ? dir : "/tmp");
    (void)buf_cstr(&name);
    m->fd = mkstemp(name.data);
    if (m->fd < 0)
        rc = err_set_errno(err, errno, "%s", name.data);
    else
        (void)unlink(name.data);
    buf_close(&name);
    return rc;
}

static int write_record(void *ctx, struct slice bytes, struct err *err)
{
    struct cc_import *m = ctx;
    if (interrupted())
        return err_set(err, ERR_CANCELLED, "interrupted");
    while (bytes.len) {
        ssize_t n = write(m->fd, bytes.data, bytes.len);
        if (n < 0 && errno != EINTR)
            return err_set_errno(err, errno, "copy of the records");
        bytes = slice_sub(bytes, n > 0 ? (size_t)n : 0, bytes.len);
    }
    return 0;
}

static int fetch_records(struct cc_import *m, struct err *err)
{
    int rc = open_records(m, err);
    m->parts = mem_zalloc(m->list.count + 1, sizeof(*m->parts));
    if (rc == 0)
        rc = cc_fetch(m->fs, &m->question, &m->list, write_record, m, m->parts,
                      err);
    return rc;
}

/* --- the import ---------------------------------------------------------- */

static int import_records(struct cc_import *m, struct err *err)
{
    const char *table = args_value(m->args, "into");
    const char *name = m->question.crawl;
    struct buf path = BUF_INIT;
    struct ingest_options o;
    struct ingest_report report = {.record_count = 0};
    struct ingest_job job = {
        .table = table, .path_count = 1, .opts = &o, .names = &name};
    const char *paths[1];
    int rc;
    ingest_options_init(&o);
    o.world = m->cli->world;
    o.links = !args_flag(m->args, "no-links");
    o.text = args_flag(m->args, "text");
    o.verify_digests = args_flag(m->args, "verify");
    o.parts = m->parts;
    o.part_count = m->list.count;
    if (getenv("TMPDIR"))
        o.temp_dir = getenv("TMPDIR");
    buf_printf(&path, "/proc/self/fd/%d", m->fd);
    paths[0] = buf_cstr(&path);
    job.paths = paths;
    m->cli->memtable_bytes = INGEST_WARC_MEMTABLE_BYTES;
    rc = cli_store(m->cli, CLI_CREATE, &job.q, err);
    if (rc == 0)
        rc = ingest_warc(&job, &report, err);
    if (report.record_count || report.damage_count)
        import_report_print(m->cli, m->args, &report, table, rc != 0);
    ingest_report_free(&report);
    buf_close(&path);
    return rc;
}

static void print_list(const struct cc_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        printf("%.*s\n", SLICE_ARG(l->at[i].line));
}

static int find_captures(struct cc_import *m, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < m->args->word_count && rc == 0; i++)
        rc = cc_find(m->fs, &m->question, slice_str(m->args->words[i]),
                     &m->list, err);
    if (rc == 0 && m->list.count == 0) {
        err_set(err, ERR_NOTFOUND, "%s has no capture of that",
                m->question.crawl);
        rc = ERR_NOTFOUND;
    }
    return rc;
}

static void remark_transfer(const struct cc_import *m)
{
    struct fs_remote_counts n = {.requests = 0};
    struct buf b = BUF_INIT;
    if (m->is_remote)
        fs_remote_counts(m->fs, &n);
    text_put_count(&b, m->list.count);
    buf_printf(&b, " captures, %llu blocks of the index",
               (unsigned long long)m->list.blocks);
    if (m->is_remote) {
        buf_printf(&b, "; %llu requests, ", (unsigned long long)n.requests);
        text_put_bytes(&b, n.read_bytes);
    }
    if (m->list.bad)
        buf_printf(&b, "; %llu lines of the index could not be read",
                   (unsigned long long)m->list.bad);
    cli_remark(m->cli, "%s", buf_cstr(&b));
    buf_close(&b);
}

static int
run_import_cc(struct cli *cli, const struct args *args, struct err *err)
{
    struct cc_import m = {.cli = cli, .args = args, .fd = -1};
    int rc;
    cc_list_init(&m.list);
    rc = cc_options(&m, err);
    if (rc == 0)
        rc = open_crawl(&m, err);
    (void)interrupt_watch();
    if (rc == 0)
        rc = find_captures(&m, err);
    if (rc == 0 && args_flag(args, "list"))
        print_list(&m.list);
    else if (rc == 0)
        rc = fetch_records(&m, err);
    if (rc == 0)
        remark_transfer(&m);
    close_crawl(&m);
    if (rc == 0 && !args_flag(args, "list"))
        rc = import_records(&m, err);
    if (m.fd >= 0)
        close(m.fd);
    mem_free(m.parts);
    cc_list_close(&m.list);
    buf_close(&m.base);
    buf_close(&m.root);
    return rc;
}

static const struct option cc_command_options[] = {
    {"into", 0, "TABLE", "the table; made if it is not there"},
    {"crawl", 0, "NAME", "which crawl: CC-MAIN-2024-22"},
    {"base", 0, "PLACE",
     "where it is: http(s)://…, s3://… or a directory\n"
     "(" BASE_DEFAULT ")"},
    {"since", 0, "DATE", "captures from this date on, 1 to 14 digits"},
    {"until", 0, "DATE", "and up to the end of this one"},
    {"status", 0, "N", "only answers of this status"},
    {"mime", 0, "TYPE", "only of this media type"},
    {"limit", 0, "N", "captures of all patterns together (1000)"},
    {"list", 0, NULL, "print the lines of the index, and fetch nothing"},
    {"no-links", 0, NULL, "write no anchor cells"},
    {"text", 0, NULL, "write the main text and its language"},
    {"verify", 0, NULL, "skip and report records whose digests differ"},
    {NULL, 0, NULL, NULL},
};

const struct command import_cc_commands[] = {
    {.name = "import cc",
     .arguments = "PATTERN… --crawl NAME --into TABLE",
     .summary = "Bring pages of Common Crawl in, by URL",
     .details =
         "A PATTERN is a URL, URL* for all that begin so, a host for its pages "
         "or *.host\nfor its subdomains too, as in indexes of web archives "
         "(SURT). The index is\nsearched by ranges, and only the records "
         "found are fetched: of an archive of\nterabytes some kilobytes a "
         "page. Rows are those of `import warc`.",
     .examples = "quarry import cc 'example.com/*' --crawl CC-MAIN-2024-22 "
                 "--into webtable\n"
                 "quarry import cc '*.gnu.org' --crawl CC-MAIN-2024-22 "
                 "--limit 50 --list",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {cc_command_options},
     .run = run_import_cc},
    {.name = NULL},
};
