/* How often was each URL asked for, or captured?
 *
 * Of text: lines of access logs, whose requested path is counted (with the
 * virtual host before it, if the line has one). Of a table: the log:path cells
 * of an imported access log, or the versions of http:url of a Webtable. Of
 * archives: responses.
 *     text, records:  url <tab> count
 *     table:          count:requests = count, row the URL
 */
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "jobs/jobs.h"
#include "jobs/page.h"
#include "mapreduce/warc/archive_reader.h"

static int url_frequency_setup(struct mr_task *t, struct err *err)
{
    (void)err;
    mr_set_state(t, mem_zalloc(1, sizeof(struct buf)));
    return 0;
}

static void url_frequency_teardown(struct mr_task *t)
{
    buf_close(mr_state(t));
    mem_free(mr_state(t));
}

/* The next word of @s, which is cut off its front. */
static struct slice next_word(struct slice *s)
{
    size_t n = slice_find_byte(*s, ' ');
    struct slice word = slice_sub(*s, 0, n);
    *s = slice_sub(*s, n + 1, s->len);
    return word;
}

/* The host of a line that begins "host:port client - - [": else empty. */
static struct slice virtual_host(struct slice head)
{
    size_t words = 1;
    size_t bracket = slice_find_byte(head, '[');
    head = slice_trim(slice_sub(head, 0, bracket));
    for (size_t i = 0; i < head.len; i++)
        words += head.data[i] == ' ';
    return words == 4 ? next_word(&head) : SLICE_EMPTY;
}

/* "METHOD path PROTOCOL" in the line's first quotes. */
static void map_log_line(struct mr_task *t, struct slice line)
{
    struct buf *url = mr_state(t);
    size_t quote = slice_find_byte(line, '"');
    struct slice request = slice_sub(line, quote + 1, line.len);
    struct slice path;
    request = slice_sub(request, 0, slice_find_byte(request, '"'));
    (void)next_word(&request);
    path = next_word(&request);
    if (quote == line.len || path.len == 0) {
        mr_count(t, "url_frequency.odd_lines", 1);
        return;
    }
    buf_clear(url);
    buf_append_slice(url, virtual_host(slice_sub(line, 0, quote)));
    buf_append_slice(url, slice_sub(path, 0, MR_KEY_BYTES_MAX / 2));
    if (url->len <= MR_KEY_BYTES_MAX)
        mr_emit_count(t, buf_slice(url), 1);
}

static void map_row(struct mr_task *t, const struct quarry_row *row)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        bool log = slice_eq_str(c->family, "log") &&
                   slice_eq_str(c->qualifier, "path");
        bool web = slice_eq_str(c->family, "http") &&
                   slice_eq_str(c->qualifier, "url");
        if ((log || web) && c->value.len <= MR_KEY_BYTES_MAX)
            mr_emit_count(t, c->value, 1);
    }
}

static int url_frequency_map(struct mr_task *t,
                             const struct mr_record *record,
                             struct err *err)
{
    (void)err;
    if (record->row)
        map_row(t, record->row);
    else if (!record->warc)
        map_log_line(t, record->value);
    else if (record->warc->type == WARC_RESPONSE &&
             record->key.len <= MR_KEY_BYTES_MAX)
        mr_emit_count(t, record->key, 1);
    return 0;
}

static int url_frequency_reduce(struct mr_task *t,
                                struct slice key,
                                struct mr_values *values,
                                struct err *err)
{
    struct mr_output *out = mr_output(t, NULL);
    int64_t count = mr_values_sum(values);
    char text[24];
    size_t n = (size_t)snprintf(text, sizeof(text), "%lld", (long long)count);
    (void)err;
    if (mr_output_is_table(out))
        mr_put(out, key, "count", SLICE_LIT("requests"), MR_JOB_TIME,
               slice_make(text, n));
    else
        mr_write(out, key, slice_make(text, n));
    return 0;
}

static const char *const families[] = {"count", NULL};

const struct mr_job job_url_frequency = {
    .abi_version = MR_ABI_VERSION,
    .name = "url_frequency",
    .help = "Count the requests of an access log, or captures, by URL.",
    .setup = url_frequency_setup,
    .teardown = url_frequency_teardown,
    .map = url_frequency_map,
    .reduce = url_frequency_reduce,
    .combine = mr_combine_sum,
    .output_families = families,
};
