/* The main text of pages and its language, from a Webtable or from archives:
 * for tables that were imported without --text, and for files of text.
 *     table:    contents:main and language:text, at the time of the capture
 *     text:     page <tab> language <tab> text, on one line
 *     records:  key page, value text
 */
#include "mapreduce/warc/main_text.h"

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "jobs/jobs.h"
#include "jobs/page.h"
#include "mapreduce/warc/archive_reader.h"
#include "mapreduce/warc/language_guess.h"

struct main_text_task {
    struct page_reader *pages;
    struct main_text *extractor;
    struct buf value;
    bool whole; /* All text of a page, not the main one. */
};

static int main_text_setup(struct mr_task *t, struct err *err)
{
    struct main_text_task *m = mem_zalloc(1, sizeof(*m));
    const char *text = mr_param(t, "text");
    m->pages = page_reader_new();
    m->extractor = main_text_new();
    m->whole = strcmp(text, "all") == 0;
    mr_set_state(t, m);
    if (!m->whole && strcmp(text, "main") != 0)
        return err_set(err, ERR_INVALID,
                       "parameter text=%s: must be main or all", text);
    return 0;
}

static void main_text_teardown(struct mr_task *t)
{
    struct main_text_task *m = mr_state(t);
    page_reader_free(m->pages);
    main_text_free(m->extractor);
    buf_close(&m->value);
    mem_free(m);
}

/* When the page was captured. */
static int64_t time_of_page(const struct mr_record *record)
{
    if (!record->row)
        return record->warc->time_us > 0 ? record->warc->time_us : 0;
    for (size_t i = 0; i < record->row->cell_count; i++) {
        const struct quarry_cell *c = &record->row->cells[i];
        if (slice_eq_str(c->family, "contents") && c->qualifier.len == 0)
            return c->timestamp_us;
    }
    return MR_JOB_TIME;
}

static void put_text_row(struct mr_output *out,
                         struct slice page,
                         int64_t time_us,
                         struct slice text,
                         const char *language)
{
    mr_put(out, page, "contents", SLICE_LIT("main"), time_us, text);
    if (*language)
        mr_put(out, page, "language", SLICE_LIT("text"), time_us,
               slice_str(language));
}

static void write_text_line(struct main_text_task *m,
                            struct mr_output *out,
                            struct slice page,
                            struct slice text,
                            const char *language)
{
    buf_clear(&m->value);
    buf_printf(&m->value, "%s\t", *language ? language : "-");
    text = slice_trim(text);
    for (size_t i = 0; i < text.len; i++)
        buf_append_byte(&m->value, text.data[i] == '\n' ||
                                           text.data[i] == '\r' ||
                                           text.data[i] == '\t'
                                       ? ' '
                                       : text.data[i]);
    mr_write(out, page, buf_slice(&m->value));
}

static int main_text_map(struct mr_task *t,
                         const struct mr_record *record,
                         struct err *err)
{
    struct main_text_task *m = mr_state(t);
    struct mr_output *out = mr_output(t, NULL);
    char language[LANGUAGE_CODE_BYTES];
    struct page page;
    struct slice text;
    (void)err;
    if (!page_read(m->pages, record, &page) || !page.text)
        return 0;
    text = !page.html ? main_text_plain(m->extractor, page.body)
           : m->whole ? main_text_all(m->extractor, page.body)
                      : main_text_of(m->extractor, page.body);
    if (text.len == 0) {
        mr_count(t, "main_text.without", 1);
        return 0;
    }
    mr_count(t, "main_text.pages", 1);
    (void)language_guess(text, page.language, language);
    if (!out)
        return 0;
    if (mr_output_is_table(out))
        put_text_row(out, page.key, time_of_page(record), text, language);
    else if (mr_output_is_records(out))
        mr_write(out, page.key, text);
    else
        write_text_line(m, out, page.key, text, language);
    return 0;
}

static const struct mr_param params[] = {
    {"text", "main",
     "main: without menus, footers and lists of links; or all."},
};
static const char *const families[] = {"contents", "language", NULL};

const struct mr_job job_main_text = {
    .abi_version = MR_ABI_VERSION,
    .name = "main_text",
    .help = "Extract the main text of pages, and guess its language.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = main_text_setup,
    .teardown = main_text_teardown,
    .map = main_text_map,
    .output_families = families,
};
