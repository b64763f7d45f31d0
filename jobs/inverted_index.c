/* In which documents does each word occur, and how often? A document is a page
 * of text in a Webtable or an archive, a record, or a whole text file.
 *     table:          doc:<document> = count
 *     text, records:  word <tab> document:count document:count …
 */
#include <stdio.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "jobs/jobs.h"
#include "jobs/page.h"
#include "jobs/pair_key.h"

/* A longer line of postings is cut, and counted. */
#define POSTINGS_BYTES_MAX ((size_t)32 << 20)

struct index {
    struct mr_task *task;
    struct page_reader *pages;
    struct slice document;
    size_t word_bytes_min;
    struct buf key;
    struct buf postings;
};

static int inverted_index_setup(struct mr_task *t, struct err *err)
{
    struct index *x = mem_zalloc(1, sizeof(*x));
    int64_t min = 1;
    int rc = mr_param_i64(t, "min_length", 1, 64, &min, err);
    x->task = t;
    x->pages = page_reader_new();
    x->word_bytes_min = (size_t)min;
    mr_set_state(t, x);
    return rc;
}

static void inverted_index_teardown(struct mr_task *t)
{
    struct index *x = mr_state(t);
    page_reader_free(x->pages);
    buf_close(&x->key);
    buf_close(&x->postings);
    mem_free(x);
}

static void emit_word(void *ctx, struct slice word)
{
    struct index *x = ctx;
    if (word.len >= x->word_bytes_min && pair_key(&x->key, word, x->document))
        mr_emit_count(x->task, buf_slice(&x->key), 1);
}

static int inverted_index_map(struct mr_task *t,
                              const struct mr_record *record,
                              struct err *err)
{
    struct index *x = mr_state(t);
    struct page page;
    (void)err;
    if (page_read(x->pages, record, &page)) {
        x->document = page.key;
        if (page.text)
            page_words(page.body, page.html, emit_word, x);
    } else if (!record->row && !record->warc) {
        x->document =
            record->key.len > 0 ? record->key : slice_str(mr_input_path(t));
        page_words(record->value, false, emit_word, x);
    }
    return 0;
}

static void write_posting(struct index *x,
                          struct mr_output *out,
                          struct slice word,
                          struct slice document,
                          int64_t count)
{
    char text[24];
    size_t n = (size_t)snprintf(text, sizeof(text), "%lld", (long long)count);
    if (mr_output_is_table(out)) {
        mr_put(out, word, "doc", document, MR_JOB_TIME, slice_make(text, n));
        return;
    }
    if (x->postings.len > POSTINGS_BYTES_MAX) {
        mr_count(x->task, "inverted_index.postings_cut", 1);
        return;
    }
    if (x->postings.len > 0)
        buf_append_byte(&x->postings, ' ');
    buf_append_slice(&x->postings, document);
    buf_append_byte(&x->postings, ':');
    buf_append(&x->postings, text, n);
}

static int inverted_index_reduce(struct mr_task *t,
                                 struct slice word,
                                 struct mr_values *values,
                                 struct err *err)
{
    struct index *x = mr_state(t);
    struct mr_output *out = mr_output(t, NULL);
    struct slice value;
    int64_t count = 0;
    (void)err;
    buf_clear(&x->key);
    buf_clear(&x->postings);
    while (mr_values_next(values, &value)) {
        struct slice doc = pair_key_member(mr_values_key(values), word.len);
        if (count > 0 && !slice_eq(doc, buf_slice(&x->key))) {
            write_posting(x, out, word, buf_slice(&x->key), count);
            count = 0;
        }
        buf_clear(&x->key);
        buf_append_slice(&x->key, doc);
        count += mr_value_count(value);
    }
    write_posting(x, out, word, buf_slice(&x->key), count);
    if (!mr_output_is_table(out))
        mr_write(out, word, buf_slice(&x->postings));
    return 0;
}

static const struct mr_param params[] = {
    {"min_length", "2", "Shorter words, in bytes, are left out."},
};
static const char *const families[] = {"doc", NULL};

const struct mr_job job_inverted_index = {
    .abi_version = MR_ABI_VERSION,
    .name = "inverted_index",
    .help = "List for each word the documents it occurs in.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = inverted_index_setup,
    .teardown = inverted_index_teardown,
    .map = inverted_index_map,
    .reduce = inverted_index_reduce,
    .combine = mr_combine_sum,
    .group = pair_key_group,
    .output_families = families,
};
