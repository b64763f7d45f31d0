/* `import access-log`: a row a request.
 *
 * Row keys must differ for each request and be the same in a rerun. They are
 * "host/time/client/hash": the host's labels reversed, the time to the second,
 * and a hash of the whole line. Equal lines of one second are told apart by a
 * count behind it; those of a second that has passed when they come, and whose
 * lines are forgotten, by their number in the file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/hex.h"
#include "base/core/panic.h"
#include "mapreduce/ingest/log_line.h"
#include "mapreduce/ingest/table_rows.h"
#include "mapreduce/ingest/time_set.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/url.h"

#define FAMILY "log"

struct access_log {
    struct run *run;
    size_t index;
    struct buf host; /* Reversed, for lines without one. */
    struct buf key;
    struct buf value;
    struct time_set lines; /* Those of the latest second so far. */
    int64_t second_us;
    uint64_t number; /* Of the current line. */
};

/* Undo \" \\ and \xhh. */
static struct slice access_log_unescape(struct access_log *a, struct slice s)
{
    if (slice_find_byte(s, '\\') == s.len)
        return s;
    buf_clear(&a->value);
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        if (c == '\\' && i + 1 < s.len) {
            c = s.data[++i];
            if (c == 'x' && i + 2 < s.len && hex_value(s.data[i + 1]) >= 0 &&
                hex_value(s.data[i + 2]) >= 0) {
                c = (char)(hex_value(s.data[i + 1]) << 4 |
                           hex_value(s.data[i + 2]));
                i += 2;
            }
        }
        buf_append_byte(&a->value, c);
    }
    return buf_slice(&a->value);
}

static void
make_key(struct access_log *a, const struct log_line *l, struct slice line)
{
    char time[DATE_TEXT_BYTES];
    uint64_t hash = hash64_slice(line);
    int repeat = 0;
    size_t colon = slice_find_byte(l->vhost, ':');
    if (l->time_us > a->second_us) {
        time_set_clear(&a->lines);
        a->second_us = l->time_us;
    }
    while (l->time_us == a->second_us &&
           !time_set_add(&a->lines, hash + (uint64_t)repeat))
        repeat++;
    date_format(l->time_us, time);
    buf_clear(&a->key);
    if (l->vhost.len)
        url_reverse_host(slice_sub(l->vhost, 0, colon), &a->key);
    else
        buf_append_slice(&a->key, buf_slice(&a->host));
    buf_printf(&a->key, "/%s/%.*s/%016llx", time, SLICE_ARG(l->client),
               (unsigned long long)hash);
    if (repeat)
        buf_printf(&a->key, ".%d", repeat);
    if (l->time_us < a->second_us)
        buf_printf(&a->key, "+%" PRIu64, a->number);
}

static int put_row(struct access_log *a,
                   const struct log_line *l,
                   struct slice line,
                   struct run_batch *batch,
                   struct err *err)
{
    const struct {
        const char *column;
        struct slice value;
    } cells[] = {
        {"client", l->client},
        {"user", l->user},
        {"method", l->method},
        {"path", l->path},
        {"protocol", l->protocol},
        {"status", l->status},
        {"bytes", l->bytes},
        {"referer", l->referer},
        {"agent", l->agent},
        {"host", l->vhost},
        /* A request that is not "METHOD PATH PROTOCOL" is kept whole. */
        {"request", l->method.len ? SLICE_EMPTY : l->request},
    };
    struct quarry_mutation *m;
    int rc;
    make_key(a, l, line);
    rc = run_batch_row(batch, buf_slice(&a->key), 0, &m, err);
    for (size_t i = 0; i < ARRAY_LEN(cells) && rc == 0; i++)
        if (cells[i].value.len)
            run_batch_set(batch, m, FAMILY, slice_str(cells[i].column),
                          l->time_us, access_log_unescape(a, cells[i].value));
    return rc;
}

static int take_line(void *ctx,
                     const struct run_line *line,
                     struct run_batch *batch,
                     struct err *err)
{
    struct access_log *a = ctx;
    struct log_line l;
    a->number++;
    if (slice_trim(line->text).len == 0)
        return 0;
    if (line->text.data[0] == '#') {
        batch->counts.skipped++;
        return 0;
    }
    batch->counts.records++;
    if (!log_line_parse(line->text, &l) || l.client.len > 4096) {
        run_refuse(a->run, a->index, line, true,
                   "not a line of an access log (common, combined), skipped");
        return 0;
    }
    return put_row(a, &l, line->text, batch, err);
}

static int read_file(struct run *run, size_t index, struct err *err)
{
    struct access_log a = {.run = run, .index = index, .second_us = INT64_MIN};
    const char *host = run->opts.log_host ? run->opts.log_host : "localhost";
    int rc;
    url_reverse_host(slice_str(host), &a.host);
    rc = import_lines(run, index, take_line, &a, err);
    buf_close(&a.host);
    buf_close(&a.key);
    buf_close(&a.value);
    time_set_close(&a.lines);
    return rc;
}

int ingest_access_log(const struct ingest_job *job,
                      struct ingest_report *report,
                      struct err *err)
{
    return import_rows(job, FAMILY, read_file, report, err);
}
