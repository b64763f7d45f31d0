/* Bodies of the calls that read and write rows. */
#include "bigtable/wire/data_calls.h"

#include "base/core/arena.h"
#include "base/rpc/error_reply.h"
#include "bigtable/row/row_request.h"
#include "bigtable/wire/body.h"

#define READ_FIELDS           6
#define READ_REPLY_FIELDS     3
#define EACH_FIELDS           1
#define APPLY_FIELDS          4
#define APPLY_REPLY_FIELDS    3 /* And more where the error has a detail. */
#define CHECK_FIELDS          9
#define CHECK_REPLY_FIELDS    1
#define MODIFY_FIELDS         7
#define RULE_FIELDS           5
#define RUN_FIELDS            13
#define RUN_REPLY_FIELDS      4
#define CUTS_FIELDS           2
#define DESCRIBE_FIELDS       6
#define DESCRIBE_FIELDS_MIN   3 /* Without rates. */
#define GROUP_FIELDS          5
#define DESCRIBE_GROUPS_MAX   65536
#define DESCRIBE_FAMILIES_MAX 4096
#define FAMILY_LOAD_FIELDS    3

/* --- reading rows -----------------------------------------------------------
 */

void read_request_put(const struct read_request *r, struct buf *out)
{
    codec_put_array(out, READ_FIELDS);
    codec_put_u64(out, r->tablet);
    codec_put_u64(out, r->generation);
    codec_put_bin(out, r->options);
    codec_put_bin(out, r->from);
    codec_put_u64(out, r->row_limit);
    codec_put_u64(out, r->bytes_max);
}

int read_request_get(struct slice in, struct read_request *r, struct err *err)
{
    struct message_reader b = message_begin(in, READ_FIELDS);
    r->tablet = codec_get_u64(&b.r);
    r->generation = codec_get_u64(&b.r);
    r->options = codec_get_bytes(&b.r);
    r->from = codec_get_bytes(&b.r);
    r->row_limit = codec_get_u64(&b.r);
    r->bytes_max = message_u32(&b.r);
    return message_end(&b, "request to read rows", err);
}

void read_reply_put(const struct read_reply *r, struct buf *out)
{
    codec_put_array(out, READ_REPLY_FIELDS);
    codec_put_bool(out, r->done);
    codec_put_bin(out, r->next);
    codec_put_u64(out, r->row_count);
}

int read_reply_get(struct slice in, struct read_reply *r, struct err *err)
{
    struct message_reader b = message_begin(in, READ_REPLY_FIELDS);
    r->done = codec_get_bool(&b.r);
    r->next = codec_get_bytes(&b.r);
    r->row_count = codec_get_u64(&b.r);
    return message_end(&b, "answer with rows", err);
}

void each_request_put(const struct each_request *r, struct buf *out)
{
    codec_put_array(out, EACH_FIELDS);
    codec_put_u64(out, r->count);
}

int each_request_get(struct slice in, struct each_request *r, struct err *err)
{
    struct message_reader b = message_begin(in, EACH_FIELDS);
    r->count = message_u32(&b.r);
    return message_end(&b, "request to read single rows", err);
}

/* --- writing rows -----------------------------------------------------------
 */

static void put_origin(const struct change_origin *o, struct buf *out)
{
    codec_put_u64(out, o->session);
    codec_put_u64(out, o->floor);
}

static void get_origin(struct codec_reader *r, struct change_origin *o)
{
    o->session = codec_get_u64(r);
    o->floor = codec_get_u64(r);
}

void apply_request_put(const struct apply_request *r, struct buf *out)
{
    codec_put_array(out, APPLY_FIELDS);
    codec_put_u64(out, r->durability);
    codec_put_u64(out, r->count);
    put_origin(&r->origin, out);
}

int apply_request_get(struct slice in, struct apply_request *r, struct err *err)
{
    struct message_reader b = message_begin(in, APPLY_FIELDS);
    r->durability = message_u8(&b.r);
    r->count = message_u32(&b.r);
    get_origin(&b.r, &r->origin);
    return message_end(&b, "request to change rows", err);
}

void apply_reply_put(const struct apply_reply *r, struct buf *out)
{
    codec_put_array(out, 1 + error_fields_count(&r->first));
    codec_put_array(out, r->count);
    for (uint32_t i = 0; i < r->count; i++)
        codec_put_i64(out, r->codes[i]);
    error_fields_put(&r->first, out);
}

int apply_reply_get(struct slice in,
                    struct arena *a,
                    struct apply_reply *r,
                    struct err *err)
{
    struct message_reader b = message_begin(in, APPLY_REPLY_FIELDS);
    int32_t *codes;
    int first = 0;
    r->count = message_count(&b.r, APPLY_CHANGES_MAX);
    codes = arena_alloc(a, (r->count + 1) * sizeof(*codes));
    for (uint32_t i = 0; i < r->count; i++) {
        int64_t code = codec_get_i64(&b.r);
        b.r.bad |= code > 0 || code < INT32_MIN;
        codes[i] = (int32_t)code;
        first = first ? first : codes[i];
    }
    r->codes = codes;
    b.known =
        1 + error_fields_get(&b.r, b.count ? b.count - 1 : 0, first, &r->first);
    return message_end(&b, "answer about changes", err);
}

/* --- checking and modifying -------------------------------------------------
 */

void check_request_put(const struct check_request *r, struct buf *out)
{
    codec_put_array(out, CHECK_FIELDS);
    codec_put_u64(out, r->tablet);
    codec_put_u64(out, r->durability);
    codec_put_bin(out, r->row);
    message_put_maybe(out, r->has_filter, r->filter);
    codec_put_bool(out, r->has_true);
    codec_put_bool(out, r->has_false);
    put_origin(&r->origin, out);
    codec_put_u64(out, r->sequence);
}

int check_request_get(struct slice in, struct check_request *r, struct err *err)
{
    struct message_reader b = message_begin(in, CHECK_FIELDS);
    r->tablet = codec_get_u64(&b.r);
    r->durability = message_u8(&b.r);
    r->row = codec_get_bytes(&b.r);
    r->filter = message_maybe(&b.r, &r->has_filter);
    r->has_true = codec_get_bool(&b.r);
    r->has_false = codec_get_bool(&b.r);
    get_origin(&b.r, &r->origin);
    r->sequence = codec_get_u64(&b.r);
    return message_end(&b, "request to check a row", err);
}

void check_reply_put(const struct check_reply *r, struct buf *out)
{
    codec_put_array(out, CHECK_REPLY_FIELDS);
    codec_put_bool(out, r->matched);
}

int check_reply_get(struct slice in, struct check_reply *r, struct err *err)
{
    struct message_reader b = message_begin(in, CHECK_REPLY_FIELDS);
    r->matched = codec_get_bool(&b.r);
    return message_end(&b, "answer to a check", err);
}

void modify_request_put(const struct modify_request *r, struct buf *out)
{
    codec_put_array(out, MODIFY_FIELDS);
    codec_put_u64(out, r->tablet);
    codec_put_u64(out, r->durability);
    codec_put_bin(out, r->row);
    codec_put_array(out, (uint32_t)r->rule_count);
    for (size_t i = 0; i < r->rule_count; i++) {
        const struct quarry_rmw_rule *rule = &r->rules[i];
        codec_put_array(out, RULE_FIELDS);
        codec_put_u64(out, (uint64_t)rule->kind);
        codec_put_bin(out, slice_str(rule->family));
        codec_put_bin(out, rule->qualifier);
        codec_put_bin(out, rule->append);
        codec_put_i64(out, rule->increment);
    }
    put_origin(&r->origin, out);
    codec_put_u64(out, r->sequence);
}

static void
get_rule(struct codec_reader *r, struct arena *a, struct quarry_rmw_rule *rule)
{
    uint8_t kind;
    message_part(r, RULE_FIELDS);
    kind = message_u8(r);
    r->bad |= kind > QUARRY_RMW_INCREMENT;
    rule->kind = (enum quarry_rmw_kind)kind;
    rule->family = arena_dup(a, message_text(r)).data;
    rule->qualifier = codec_get_bytes(r);
    rule->append = codec_get_bytes(r);
    rule->increment = codec_get_i64(r);
}

int modify_request_get(struct slice in,
                       struct arena *a,
                       struct modify_request *r,
                       struct err *err)
{
    struct message_reader b = message_begin(in, MODIFY_FIELDS);
    struct quarry_rmw_rule *rules;
    r->tablet = codec_get_u64(&b.r);
    r->durability = message_u8(&b.r);
    r->row = codec_get_bytes(&b.r);
    r->rule_count = message_count(&b.r, MODIFY_RULES_MAX);
    rules = arena_zalloc(a, (r->rule_count + 1) * sizeof(*rules));
    for (size_t i = 0; i < r->rule_count && !b.r.bad; i++)
        get_rule(&b.r, a, &rules[i]);
    r->rules = rules;
    get_origin(&b.r, &r->origin);
    r->sequence = codec_get_u64(&b.r);
    return message_end(&b, "request to modify a row", err);
}

/* --- programs ---------------------------------------------------------------
 */

void run_request_put(const struct run_request *r, struct buf *out)
{
    const struct run_settings *s = &r->settings;
    codec_put_array(out, RUN_FIELDS);
    codec_put_u64(out, r->tablet);
    codec_put_u64(out, r->generation);
    codec_put_bin(out, r->options);
    codec_put_bin(out, r->source);
    codec_put_bin(out, r->from);
    codec_put_u64(out, r->fuel);
    codec_put_u64(out, r->memory_max);
    codec_put_u64(out, r->limit_us);
    codec_put_bool(out, s->ignore_undefs);
    codec_put_bool(out, s->defer_tables);
    codec_put_u64(out, s->depth_max);
    codec_put_u64(out, s->seed);
    message_put_maybe(out, s->has_table_output, s->table_output);
}

int run_request_get(struct slice in, struct run_request *r, struct err *err)
{
    struct message_reader b = message_begin(in, RUN_FIELDS);
    struct run_settings *s = &r->settings;
    r->tablet = codec_get_u64(&b.r);
    r->generation = codec_get_u64(&b.r);
    r->options = codec_get_bytes(&b.r);
    r->source = codec_get_bytes(&b.r);
    r->from = codec_get_bytes(&b.r);
    r->fuel = codec_get_u64(&b.r);
    r->memory_max = codec_get_u64(&b.r);
    r->limit_us = message_u32(&b.r);
    s->ignore_undefs = codec_get_bool(&b.r);
    s->defer_tables = codec_get_bool(&b.r);
    s->depth_max = message_u32(&b.r);
    s->seed = codec_get_u64(&b.r);
    s->table_output = message_maybe(&b.r, &s->has_table_output);
    b.r.bad |= has_nul(s->table_output);
    return message_end(&b, "request to run a program", err);
}

void run_reply_put(const struct run_reply *r, struct buf *out)
{
    codec_put_array(out, RUN_REPLY_FIELDS);
    codec_put_bool(out, r->done);
    codec_put_bin(out, r->next);
    codec_put_u64(out, r->row_count);
    codec_put_u64(out, r->undefined_count);
}

int run_reply_get(struct slice in, struct run_reply *r, struct err *err)
{
    struct message_reader b = message_begin(in, RUN_REPLY_FIELDS);
    r->done = codec_get_bool(&b.r);
    r->next = codec_get_bytes(&b.r);
    r->row_count = codec_get_u64(&b.r);
    r->undefined_count = codec_get_u64(&b.r);
    return message_end(&b, "answer of a program", err);
}

/* --- about a tablet ---------------------------------------------------------
 */

void cuts_request_put(const struct cuts_request *r, struct buf *out)
{
    codec_put_array(out, CUTS_FIELDS);
    codec_put_u64(out, r->tablet);
    codec_put_u64(out, r->parts);
}

int cuts_request_get(struct slice in, struct cuts_request *r, struct err *err)
{
    struct message_reader b = message_begin(in, CUTS_FIELDS);
    r->tablet = codec_get_u64(&b.r);
    r->parts = message_u32(&b.r);
    return message_end(&b, "request for cuts", err);
}

void keys_put(const struct slice *keys, size_t count, struct buf *out)
{
    codec_put_array(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        codec_put_bin(out, keys[i]);
}

int keys_get(struct slice in,
             struct arena *a,
             struct slice **keys,
             size_t *count,
             struct err *err)
{
    struct codec_reader r = codec_reader_make(in);
    *count = message_count(&r, CUTS_MAX);
    *keys = arena_zalloc(a, (*count + 1) * sizeof(**keys));
    for (size_t i = 0; i < *count; i++)
        (*keys)[i] = codec_get_bytes(&r);
    return codec_done(&r) ? 0
                          : err_set(err, ERR_CORRUPT, "malformed list of keys");
}

void describe_reply_put(const struct describe_reply *r, struct buf *out)
{
    codec_put_array(out, DESCRIBE_FIELDS);
    codec_put_u64(out, r->bytes);
    codec_put_array(out, (uint32_t)r->group_count);
    for (size_t i = 0; i < r->group_count; i++) {
        const struct group_load *g = &r->groups[i];
        codec_put_array(out, GROUP_FIELDS);
        codec_put_bin(out, g->name);
        codec_put_u64(out, g->file_count);
        codec_put_u64(out, g->file_bytes);
        codec_put_u64(out, g->memory_bytes);
        codec_put_u64(out, g->entry_count);
    }
    codec_put_array(out, (uint32_t)r->family_count);
    for (size_t i = 0; i < r->family_count; i++) {
        const struct family_load *f = &r->families[i];
        codec_put_array(out, FAMILY_LOAD_FIELDS);
        codec_put_bin(out, f->name);
        codec_put_u64(out, f->stored_bytes);
        codec_put_u64(out, f->memory_bytes);
    }
    codec_put_u64(out, r->milli_reads_per_s);
    codec_put_u64(out, r->milli_writes_per_s);
    codec_put_u64(out, r->milli_bytes_per_s);
}

static void get_rates(struct message_reader *m, struct describe_reply *r)
{
    r->milli_reads_per_s = r->milli_writes_per_s = r->milli_bytes_per_s = 0;
    if (m->count < DESCRIBE_FIELDS)
        return;
    r->milli_reads_per_s = codec_get_u64(&m->r);
    r->milli_writes_per_s = codec_get_u64(&m->r);
    r->milli_bytes_per_s = codec_get_u64(&m->r);
    m->known = DESCRIBE_FIELDS;
}

int describe_reply_get(struct slice in,
                       struct arena *a,
                       struct describe_reply *r,
                       struct err *err)
{
    struct message_reader b = message_begin(in, DESCRIBE_FIELDS_MIN);
    r->bytes = codec_get_u64(&b.r);
    r->group_count = message_count(&b.r, DESCRIBE_GROUPS_MAX);
    r->groups = arena_zalloc(a, (r->group_count + 1) * sizeof(*r->groups));
    for (size_t i = 0; i < r->group_count; i++) {
        struct group_load *g = &r->groups[i];
        message_part(&b.r, GROUP_FIELDS);
        g->name = codec_get_bytes(&b.r);
        g->file_count = codec_get_u64(&b.r);
        g->file_bytes = codec_get_u64(&b.r);
        g->memory_bytes = codec_get_u64(&b.r);
        g->entry_count = codec_get_u64(&b.r);
    }
    r->family_count = message_count(&b.r, DESCRIBE_FAMILIES_MAX);
    r->families = arena_zalloc(a, (r->family_count + 1) * sizeof(*r->families));
    for (size_t i = 0; i < r->family_count; i++) {
        struct family_load *f = &r->families[i];
        message_part(&b.r, FAMILY_LOAD_FIELDS);
        f->name = codec_get_bytes(&b.r);
        f->stored_bytes = codec_get_u64(&b.r);
        f->memory_bytes = codec_get_u64(&b.r);
    }
    get_rates(&b, r);
    return message_end(&b, "description of a tablet", err);
}
