/* The state of a tablet server on the wire: a message with a list in it, which
 * is written by hand. All other messages of these calls are lists of fields in
 * control_calls.h. */
#include "bigtable/wire/control_calls.h"

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/wire/log_calls.h"
#include "bigtable/wire/message.h"

#define STATUS_FIELDS      8
#define TABLET_LOAD_FIELDS 9

/* --- what a tablet server does ------------------------------------------- */

static void put_tablet_load(const struct tablet_load *t, struct buf *out)
{
    codec_put_array(out, TABLET_LOAD_FIELDS);
    codec_put_u64(out, t->id);
    codec_put_u64(out, t->table);
    codec_put_u64(out, t->epoch);
    codec_put_u64(out, (uint64_t)t->phase);
    codec_put_u64(out, t->bytes);
    codec_put_u64(out, t->memory_bytes);
    codec_put_u64(out, t->reads);
    codec_put_u64(out, t->writes);
    codec_put_u64(out, t->cpu_us);
}

static void get_tablet_load(struct codec_reader *r, struct tablet_load *t)
{
    uint64_t phase;
    message_part(r, TABLET_LOAD_FIELDS);
    t->id = codec_get_u64(r);
    t->table = codec_get_u64(r);
    t->epoch = codec_get_u64(r);
    phase = codec_get_u64(r);
    r->bad |= phase < TABLET_LOADING || phase > TABLET_UNLOADING;
    t->phase = r->bad ? TABLET_LOADING : (enum tablet_phase)phase;
    t->bytes = codec_get_u64(r);
    t->memory_bytes = codec_get_u64(r);
    t->reads = codec_get_u64(r);
    t->writes = codec_get_u64(r);
    t->cpu_us = codec_get_u64(r);
}

void server_status_put(const struct server_status *s, struct buf *out)
{
    PRE(s->tablet_count <= STATUS_TABLETS_MAX);
    codec_put_array(out, STATUS_FIELDS);
    codec_put_u64(out, s->number);
    codec_put_u64(out, s->memory_bytes);
    codec_put_u64(out, s->memory_max);
    codec_put_u64(out, s->log_bytes);
    codec_put_u64(out, s->files_decided);
    codec_put_u64(out, s->tablet_total);
    codec_put_bool(out, s->more);
    codec_put_array(out, (uint32_t)s->tablet_count);
    for (size_t i = 0; i < s->tablet_count; i++)
        put_tablet_load(&s->tablets[i], out);
}

int server_status_get(struct slice in,
                      struct arena *a,
                      struct server_status *s,
                      struct err *err)
{
    struct message_reader m = message_begin(in, STATUS_FIELDS);
    s->number = codec_get_u64(&m.r);
    s->memory_bytes = codec_get_u64(&m.r);
    s->memory_max = codec_get_u64(&m.r);
    s->log_bytes = codec_get_u64(&m.r);
    s->files_decided = codec_get_u64(&m.r);
    s->tablet_total = codec_get_u64(&m.r);
    s->more = codec_get_bool(&m.r);
    s->tablet_count = message_count(&m.r, STATUS_TABLETS_MAX);
    s->tablets = (struct tablet_load *)arena_alloc(a, (s->tablet_count + 1) *
                                                          sizeof(*s->tablets));
    for (size_t i = 0; i < s->tablet_count; i++)
        get_tablet_load(&m.r, &s->tablets[i]);
    return message_end(&m, "state of a tablet server", err);
}
