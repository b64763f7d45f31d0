/* The messages of survey_calls.h that have lists in them. Lists from a peer
 * are bounded by the bytes that carry them before memory is taken. */
#include "bigtable/wire/survey_calls.h"

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/wire/message.h"

#define SURVEY_FIELDS      3
#define TABLET_FIELDS      14
#define EXAMINATION_FIELDS 4
#define GROUP_FIELDS       8
#define FILE_FIELDS        7

/* --- a tablet at a glance ------------------------------------------------ */

static void put_tablet(const struct surveyed_tablet *t, struct buf *out)
{
    codec_put_array(out, TABLET_FIELDS);
    codec_put_u64(out, t->id);
    codec_put_str(out, t->table);
    codec_put_bin(out, t->start);
    codec_put_bin(out, t->end);
    codec_put_u64(out, (uint64_t)t->phase);
    codec_put_u64(out, t->bytes);
    codec_put_u64(out, t->memory_bytes);
    codec_put_u64(out, t->file_count);
    codec_put_u64(out, t->debt_bytes);
    codec_put_u64(out, t->milli_reads_per_s);
    codec_put_u64(out, t->milli_writes_per_s);
    codec_put_u64(out, t->milli_bytes_per_s);
    codec_put_u64(out, t->loaded_at_us);
    codec_put_bool(out, t->is_busy);
}

static void get_tablet(struct codec_reader *r, struct surveyed_tablet *t)
{
    uint64_t phase;
    message_part(r, TABLET_FIELDS);
    t->id = codec_get_u64(r);
    t->table = message_bytes(r, MESSAGE_NAME_BYTES_MAX);
    t->start = message_row(r);
    t->end = message_row(r);
    phase = codec_get_u64(r);
    r->bad |= phase < TABLET_LOADING || phase > TABLET_UNLOADING;
    t->phase = r->bad ? TABLET_LOADING : (enum tablet_phase)phase;
    t->bytes = codec_get_u64(r);
    t->memory_bytes = codec_get_u64(r);
    t->file_count = codec_get_u64(r);
    t->debt_bytes = codec_get_u64(r);
    t->milli_reads_per_s = codec_get_u64(r);
    t->milli_writes_per_s = codec_get_u64(r);
    t->milli_bytes_per_s = codec_get_u64(r);
    t->loaded_at_us = codec_get_u64(r);
    t->is_busy = codec_get_bool(r);
}

void survey_put(const struct survey *s, struct buf *out)
{
    PRE(s->tablet_count <= SURVEY_TABLETS_MAX);
    codec_put_array(out, SURVEY_FIELDS);
    codec_put_u64(out, s->server);
    codec_put_bool(out, s->more);
    codec_put_array(out, (uint32_t)s->tablet_count);
    for (size_t i = 0; i < s->tablet_count; i++)
        put_tablet(&s->tablets[i], out);
}

int survey_get(struct slice in,
               struct arena *a,
               struct survey *s,
               struct err *err)
{
    struct message_reader m = message_begin(in, SURVEY_FIELDS);
    s->server = codec_get_u64(&m.r);
    s->more = codec_get_bool(&m.r);
    s->tablet_count = message_count(&m.r, SURVEY_TABLETS_MAX);
    s->tablets = arena_zalloc(a, (s->tablet_count + 1) * sizeof(*s->tablets));
    for (size_t i = 0; i < s->tablet_count; i++)
        get_tablet(&m.r, &s->tablets[i]);
    return message_end(&m, "survey of tablets", err);
}

/* --- a tablet in detail -------------------------------------------------- */

static void put_file(const struct examined_file *f, struct buf *out)
{
    codec_put_array(out, FILE_FIELDS);
    codec_put_u64(out, f->number);
    codec_put_u64(out, f->run);
    codec_put_u64(out, f->bytes);
    codec_put_u64(out, f->entry_count);
    codec_put_u64(out, f->sequence_max);
    codec_put_bin(out, f->smallest);
    codec_put_bin(out, f->largest);
}

static void get_file(struct codec_reader *r, struct examined_file *f)
{
    uint64_t run;
    message_part(r, FILE_FIELDS);
    f->number = codec_get_u64(r);
    run = codec_get_u64(r);
    r->bad |= run > UINT32_MAX;
    f->run = (uint32_t)run;
    f->bytes = codec_get_u64(r);
    f->entry_count = codec_get_u64(r);
    f->sequence_max = codec_get_u64(r);
    f->smallest = message_row(r);
    f->largest = message_row(r);
}

static void put_group(const struct examined_group *g, struct buf *out)
{
    PRE(g->file_count <= EXAMINE_FILES_MAX);
    codec_put_array(out, GROUP_FIELDS);
    codec_put_str(out, g->name);
    codec_put_u64(out, g->memtable_count);
    codec_put_u64(out, g->memtable_bytes);
    codec_put_u64(out, g->debt_bytes);
    codec_put_bool(out, g->is_flushing);
    codec_put_bool(out, g->is_compacting);
    codec_put_u64(out, g->file_total);
    codec_put_array(out, (uint32_t)g->file_count);
    for (size_t i = 0; i < g->file_count; i++)
        put_file(&g->files[i], out);
}

static void
get_group(struct codec_reader *r, struct arena *a, struct examined_group *g)
{
    message_part(r, GROUP_FIELDS);
    g->name = message_bytes(r, MESSAGE_NAME_BYTES_MAX);
    g->memtable_count = codec_get_u64(r);
    g->memtable_bytes = codec_get_u64(r);
    g->debt_bytes = codec_get_u64(r);
    g->is_flushing = codec_get_bool(r);
    g->is_compacting = codec_get_bool(r);
    g->file_total = codec_get_u64(r);
    g->file_count = message_count(r, EXAMINE_FILES_MAX);
    g->files = arena_zalloc(a, (g->file_count + 1) * sizeof(*g->files));
    for (size_t i = 0; i < g->file_count; i++)
        get_file(r, &g->files[i]);
}

void examination_put(const struct examination *e, struct buf *out)
{
    PRE(e->group_count <= EXAMINE_GROUPS_MAX);
    codec_put_array(out, EXAMINATION_FIELDS);
    put_tablet(&e->tablet, out);
    codec_put_u64(out, e->table);
    codec_put_u64(out, e->epoch);
    codec_put_array(out, (uint32_t)e->group_count);
    for (size_t i = 0; i < e->group_count; i++)
        put_group(&e->groups[i], out);
}

int examination_get(struct slice in,
                    struct arena *a,
                    struct examination *e,
                    struct err *err)
{
    struct message_reader m = message_begin(in, EXAMINATION_FIELDS);
    get_tablet(&m.r, &e->tablet);
    e->table = codec_get_u64(&m.r);
    e->epoch = codec_get_u64(&m.r);
    e->group_count = message_count(&m.r, EXAMINE_GROUPS_MAX);
    e->groups = arena_zalloc(a, (e->group_count + 1) * sizeof(*e->groups));
    for (size_t i = 0; i < e->group_count; i++)
        get_group(&m.r, a, &e->groups[i]);
    return message_end(&m, "examination of a tablet", err);
}
