/* The texts of links, where they lead: of each page, what pages that link to it
 * call it. Of several links from one page to another the first one with a text
 * counts; those of a page to itself do not.
 *     table:          row target, anchor:<source> = text
 *     text, records:  target <tab> source <space> text
 */
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "jobs/jobs.h"
#include "jobs/page.h"
#include "jobs/pair_key.h"

struct anchor_task {
    struct mr_task *task;
    struct page_reader *pages;
    struct slice source; /* Of the current page. */
    struct buf key;
    struct buf text;
    struct buf line;
};

static int anchor_texts_setup(struct mr_task *t, struct err *err)
{
    struct anchor_task *a = mem_zalloc(1, sizeof(*a));
    (void)err;
    a->task = t;
    a->pages = page_reader_new();
    mr_set_state(t, a);
    return 0;
}

static void anchor_texts_teardown(struct mr_task *t)
{
    struct anchor_task *a = mr_state(t);
    page_reader_free(a->pages);
    buf_close(&a->key);
    buf_close(&a->text);
    buf_close(&a->line);
    mem_free(a);
}

static void emit_anchor(void *ctx, struct slice target, struct slice text)
{
    struct anchor_task *a = ctx;
    if (!slice_eq(target, a->source) && pair_key(&a->key, target, a->source))
        mr_emit(a->task, buf_slice(&a->key), text);
}

static int anchor_texts_map(struct mr_task *t,
                            const struct mr_record *record,
                            struct err *err)
{
    struct anchor_task *a = mr_state(t);
    struct page page;
    (void)err;
    if (page_read(a->pages, record, &page)) {
        a->source = page.key;
        page_anchors(a->pages, &page, emit_anchor, a);
    }
    return 0;
}

static void write_anchor(struct anchor_task *a,
                         struct mr_output *out,
                         struct slice target,
                         struct slice source)
{
    if (mr_output_is_table(out)) {
        mr_put(out, target, "anchor", source, MR_JOB_TIME, buf_slice(&a->text));
        return;
    }
    buf_clear(&a->line);
    buf_append_slice(&a->line, source);
    buf_append_byte(&a->line, ' ');
    buf_append_slice(&a->line, buf_slice(&a->text));
    mr_write(out, target, buf_slice(&a->line));
}

static int anchor_texts_reduce(struct mr_task *t,
                               struct slice target,
                               struct mr_values *values,
                               struct err *err)
{
    struct anchor_task *a = mr_state(t);
    struct mr_output *out = mr_output(t, NULL);
    struct slice text;
    bool any = false;
    (void)err;
    while (mr_values_next(values, &text)) {
        struct slice source =
            pair_key_member(mr_values_key(values), target.len);
        if (any && !slice_eq(source, buf_slice(&a->key))) {
            write_anchor(a, out, target, buf_slice(&a->key));
            any = false;
        }
        if (!any) {
            buf_clear(&a->text);
            buf_clear(&a->key);
            buf_append_slice(&a->key, source);
        }
        if (a->text.len == 0)
            buf_append_slice(&a->text, text);
        any = true;
    }
    write_anchor(a, out, target, buf_slice(&a->key));
    return 0;
}

static const char *const families[] = {"anchor", NULL};

const struct mr_job job_anchor_texts = {
    .abi_version = MR_ABI_VERSION,
    .name = "anchor_texts",
    .help = "Collect what the links to each page say.",
    .setup = anchor_texts_setup,
    .teardown = anchor_texts_teardown,
    .map = anchor_texts_map,
    .reduce = anchor_texts_reduce,
    .group = pair_key_group,
    .output_families = families,
};
