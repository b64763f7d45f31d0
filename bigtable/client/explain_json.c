/* The record of an explained scan as JSON: every counter, by the parts of
 * explain_counts.h, for all tablets together and for each, with its files.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "bigtable/row/explain.h"

static const char *const fate_names[EXPLAIN_FATES] = {
    [EXPLAIN_FILE_KEY_RANGE] = "by_key_range",
    [EXPLAIN_FILE_NOT_NEEDED] = "not_needed",
    [EXPLAIN_FILE_FAMILY] = "by_family",
    [EXPLAIN_FILE_SEQUENCE] = "by_sequence",
    [EXPLAIN_FILE_TIME] = "by_time",
    [EXPLAIN_FILE_BLOOM_FILTER] = "by_bloom_filter",
    [EXPLAIN_FILE_OPENED] = "opened",
};

static void put_number(struct buf *out, const char *name, uint64_t value)
{
    buf_printf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

/* A row, in the text form of the command line. */
static void put_key(struct buf *out, const char *name, struct slice key)
{
    struct buf text = BUF_INIT;
    text_put_escaped(&text, key, 0);
    buf_printf(out, ",\"%s\":", name);
    text_put_json(out, buf_slice(&text));
    buf_close(&text);
}

struct parts {
    struct buf *out;
    const char *part; /* The one that is open; NULL: none. */
};

static void
put_count(struct parts *p, const char *part, const char *name, uint64_t value)
{
    bool is_time = strcmp(part, "time") == 0;
    bool is_new = !p->part || strcmp(part, p->part) != 0;
    if (is_new)
        buf_printf(p->out, "%s\"%s\":{", p->part ? "}," : "", part);
    buf_printf(p->out, "%s\"%s%s\":%llu", is_new ? "" : ",", name,
               is_time ? "_us" : "",
               (unsigned long long)(is_time ? value / 1000 : value));
    p->part = part;
}

/* The parts of an object, without its braces. */
static void put_counts(struct buf *out, const struct quarry_explain_counts *c)
{
    struct parts p = {out, NULL};
#define EXPLAIN_PUT(part, name) put_count(&p, #part, #name, c->part##_##name);
    EXPLAIN_COUNTS(EXPLAIN_PUT)
#undef EXPLAIN_PUT
    buf_append_byte(out, '}');
}

static void put_stage(struct buf *out, const struct explain_stage *s)
{
    buf_append_str(out, "{\"stage\":");
    text_put_json(out, buf_slice(&s->text));
    put_number(out, "depth", s->depth);
    put_number(out, "rows_in", s->rows_in);
    put_number(out, "rows_out", s->rows_out);
    put_number(out, "cells_in", s->cells_in);
    put_number(out, "cells_out", s->cells_out);
    buf_append_byte(out, '}');
}

static void put_file(struct buf *out, const struct explain_file *f)
{
    buf_printf(out, "{\"file\":%llu", (unsigned long long)f->number);
    put_number(out, "group", f->group);
    put_number(out, "bytes", f->bytes);
    put_number(out, "blocks_read", f->blocks);
    buf_printf(out, ",\"fate\":\"%s\"}", fate_names[f->fate]);
}

static void put_tablet(struct buf *out, const struct explain_tablet *t)
{
    buf_printf(out, "{\"tablet\":%llu", (unsigned long long)t->id);
    if (t->server.len) {
        buf_append_str(out, ",\"server\":");
        text_put_json(out, buf_slice(&t->server));
    }
    put_key(out, "start", buf_slice(&t->start));
    put_key(out, "end", buf_slice(&t->end));
    buf_append_byte(out, ',');
    put_counts(out, &t->counts);
    buf_append_str(out, ",\"sstables\":[");
    for (size_t i = 0; i < t->file_count; i++) {
        buf_append_str(out, i ? "," : "");
        put_file(out, t->files[i]);
    }
    buf_append_str(out, "]}");
}

void quarry_explain_json(const struct quarry_explain *e, struct buf *out)
{
    struct quarry_explain_counts total;
    PRE(e);
    explain_total(e, &total);
    buf_printf(out, "{\"elapsed_us\":%llu",
               (unsigned long long)(e->elapsed_ns / 1000));
    put_number(out, "waiting_for_client_us", e->client_ns / 1000);
    put_number(out, "tablet_count", e->tablet_count);
    buf_append_byte(out, ',');
    put_counts(out, &total);
    buf_append_str(out, ",\"filter\":[");
    for (size_t i = 0; i < e->stage_count; i++) {
        buf_append_str(out, i ? "," : "");
        put_stage(out, &e->stages[i]);
    }
    buf_append_str(out, "],\"tablets\":[");
    for (size_t i = 0; i < e->tablet_count; i++) {
        buf_append_str(out, i ? "," : "");
        put_tablet(out, e->tablets[i]);
    }
    buf_append_str(out, "]}\n");
}
