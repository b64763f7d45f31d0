/* Bodies of the calls that move tablets. */
#include "bigtable/wire/control_calls.h"

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/wire/log_calls.h"
#include "bigtable/wire/message.h"

#define TABLET_ORDER_FIELDS 8
#define SCHEMA_ORDER_FIELDS 6
#define STATUS_ORDER_FIELDS 3
#define LOG_ORDER_FIELDS    4
#define STATUS_FIELDS       8
#define TABLET_LOAD_FIELDS  9
#define TABLE_ORDER_FIELDS  4
#define MOVE_ORDER_FIELDS   4
#define MOVE_REPLY_FIELDS   4
#define UNLOAD_REPLY_FIELDS 1

/* Of texts that the lock service, the file system or a table's creator bound
 * more tightly than this. */
#define SEQUENCER_BYTES_MAX 2048
#define NAME_BYTES_MAX      1024
#define SCHEMA_BYTES_MAX    ((size_t)256 << 10)

/* --- orders to tablet servers ------------------------------------------- */

void tablet_order_put(const struct tablet_order *o, struct buf *out)
{
    codec_put_array(out, TABLET_ORDER_FIELDS);
    codec_put_bin(out, o->sequencer);
    codec_put_u64(out, o->server);
    codec_put_u64(out, o->tablet);
    codec_put_u64(out, o->epoch);
    codec_put_bin(out, o->key);
    codec_put_bin(out, o->row);
    codec_put_bin(out, o->row_end);
    codec_put_bin(out, o->holders);
}

int tablet_order_get(struct slice in, struct tablet_order *o, struct err *err)
{
    struct message_reader m = message_begin(in, TABLET_ORDER_FIELDS);
    o->sequencer = message_bytes(&m.r, SEQUENCER_BYTES_MAX);
    o->server = codec_get_u64(&m.r);
    o->tablet = codec_get_u64(&m.r);
    o->epoch = codec_get_u64(&m.r);
    o->key = message_row(&m.r);
    o->row = message_row(&m.r);
    o->row_end = message_row(&m.r);
    o->holders = message_bytes(&m.r, LOG_HOLDERS_BYTES_MAX);
    return message_end(&m, "order about a tablet", err);
}

void schema_order_put(const struct schema_order *o, struct buf *out)
{
    codec_put_array(out, SCHEMA_ORDER_FIELDS);
    codec_put_bin(out, o->sequencer);
    codec_put_u64(out, o->server);
    codec_put_u64(out, o->table.id);
    codec_put_u64(out, o->table.generation);
    codec_put_bin(out, o->table.schema);
    codec_put_bool(out, o->table.dropping);
}

int schema_order_get(struct slice in, struct schema_order *o, struct err *err)
{
    struct message_reader m = message_begin(in, SCHEMA_ORDER_FIELDS);
    o->sequencer = message_bytes(&m.r, SEQUENCER_BYTES_MAX);
    o->server = codec_get_u64(&m.r);
    o->table.id = codec_get_u64(&m.r);
    o->table.generation = codec_get_u64(&m.r);
    o->table.schema = message_bytes(&m.r, SCHEMA_BYTES_MAX);
    o->table.dropping = codec_get_bool(&m.r);
    return message_end(&m, "order about a schema", err);
}

void status_order_put(const struct status_order *o, struct buf *out)
{
    codec_put_array(out, STATUS_ORDER_FIELDS);
    codec_put_u64(out, o->server);
    codec_put_u64(out, o->after);
    codec_put_u64(out, o->max);
}

int status_order_get(struct slice in, struct status_order *o, struct err *err)
{
    struct message_reader m = message_begin(in, STATUS_ORDER_FIELDS);
    o->server = codec_get_u64(&m.r);
    o->after = codec_get_u64(&m.r);
    o->max = message_u32(&m.r);
    return message_end(&m, "question for the state of a tablet server", err);
}

void log_order_put(const struct log_order *o, struct buf *out)
{
    codec_put_array(out, LOG_ORDER_FIELDS);
    codec_put_bin(out, o->sequencer);
    codec_put_u64(out, o->server);
    codec_put_u64(out, o->log);
    codec_put_bin(out, o->segment);
}

int log_order_get(struct slice in, struct log_order *o, struct err *err)
{
    struct message_reader m = message_begin(in, LOG_ORDER_FIELDS);
    o->sequencer = message_bytes(&m.r, SEQUENCER_BYTES_MAX);
    o->server = codec_get_u64(&m.r);
    o->log = codec_get_u64(&m.r);
    o->segment = message_bytes(&m.r, NAME_BYTES_MAX);
    return message_end(&m, "order about a log", err);
}

/* --- what a tablet server does ------------------------------------------ */

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

/* --- to the master ------------------------------------------------------ */

void table_order_put(const struct table_order *o, struct buf *out)
{
    codec_put_array(out, TABLE_ORDER_FIELDS);
    codec_put_str(out, o->name);
    codec_put_bin(out, o->schema);
    codec_put_bin(out, o->row);
    codec_put_bin(out, o->row_end);
}

int table_order_get(struct slice in, struct table_order *o, struct err *err)
{
    struct message_reader m = message_begin(in, TABLE_ORDER_FIELDS);
    o->name = message_bytes(&m.r, NAME_BYTES_MAX);
    o->schema = message_bytes(&m.r, SCHEMA_BYTES_MAX);
    o->row = message_row(&m.r);
    o->row_end = message_row(&m.r);
    return message_end(&m, "order about a table", err);
}

void move_order_put(const struct move_order *o, struct buf *out)
{
    codec_put_array(out, MOVE_ORDER_FIELDS);
    codec_put_u64(out, o->tablet);
    codec_put_str(out, o->table);
    codec_put_bin(out, o->row);
    codec_put_str(out, o->server);
}

int move_order_get(struct slice in, struct move_order *o, struct err *err)
{
    struct message_reader m = message_begin(in, MOVE_ORDER_FIELDS);
    o->tablet = codec_get_u64(&m.r);
    o->table = message_bytes(&m.r, NAME_BYTES_MAX);
    o->row = message_row(&m.r);
    o->server = message_bytes(&m.r, ADDRESS_BYTES_MAX);
    return message_end(&m, "order to move a tablet", err);
}

void move_reply_put(const struct move_reply *r, struct buf *out)
{
    codec_put_array(out, MOVE_REPLY_FIELDS);
    codec_put_u64(out, r->tablet);
    codec_put_u64(out, r->from);
    codec_put_u64(out, r->to);
    codec_put_u64(out, r->unserved_us);
}

int move_reply_get(struct slice in, struct move_reply *r, struct err *err)
{
    struct message_reader m = message_begin(in, MOVE_REPLY_FIELDS);
    r->tablet = codec_get_u64(&m.r);
    r->from = codec_get_u64(&m.r);
    r->to = codec_get_u64(&m.r);
    r->unserved_us = codec_get_u64(&m.r);
    return message_end(&m, "outcome of a move", err);
}

void unload_reply_put(const struct unload_reply *r, struct buf *out)
{
    codec_put_array(out, UNLOAD_REPLY_FIELDS);
    codec_put_u64(out, r->closed_us);
}

int unload_reply_get(struct slice in, struct unload_reply *r, struct err *err)
{
    struct message_reader m = message_begin(in, UNLOAD_REPLY_FIELDS);
    r->closed_us = codec_get_u64(&m.r);
    return message_end(&m, "outcome of an unload", err);
}
