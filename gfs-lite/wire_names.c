/* Encoding and decoding of messages between namenodes and clients: names,
 * layouts, state. Fields are only appended; older readers ignore them.
 */
#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/rpc/rpc_message.h"
#include "gfs-lite/gfs_wire.h"
#include "gfs-lite/wire_codec.h"

#define STAT_FIELDS          14
#define STAT_FIELDS_OLD      12
#define LISTING_FIELDS       3
#define LISTING_FIELDS_OLD   2
#define RIGHTS_FIELDS        2
#define ENTRY_FIELDS         2
#define LAYOUT_FIELDS        6
#define LAYOUT_FIELDS_OLD    5
#define CHUNK_FIELDS         6
#define SERVER_FIELDS        4
#define STATUS_FIELDS        12
#define STATUS_FIELDS_ADDED  3 /* Not told by older namenodes. */
#define SERVER_STATUS_FIELDS 8
#define FINDINGS_FIELDS      5
#define FINDING_FIELDS       5
#define GRANTS_FIELDS        1
#define GRANT_FIELDS         4

/* --- names --------------------------------------------------------------- */

static void put_stat(const struct gfs_stat *s, struct buf *out)
{
    codec_put_u64(out, s->file);
    codec_put_bool(out, s->is_directory);
    codec_put_bool(out, s->is_open);
    codec_put_u64(out, s->replication);
    codec_put_u64(out, s->size_bytes);
    codec_put_u64(out, s->modified_us);
    codec_put_u64(out, s->chunk_count);
    codec_put_u64(out, s->entry_count);
    codec_put_u64(out, s->file_count);
    codec_put_u64(out, s->bytes);
    codec_put_u64(out, s->entry_quota);
    codec_put_u64(out, s->byte_quota);
}

static void put_rights(const struct gfs_stat *s, struct buf *out)
{
    codec_put_bin(out, s->owner);
    codec_put_u64(out, s->mode);
}

void gfs_stat_put(const struct gfs_stat *s, struct buf *out)
{
    codec_put_array(out, STAT_FIELDS);
    put_stat(s, out);
    put_rights(s, out);
}

static void get_stat(struct codec_reader *r, struct gfs_stat *s)
{
    s->file = codec_get_u64(r);
    s->is_directory = codec_get_bool(r);
    s->is_open = codec_get_bool(r);
    s->replication = message_u32(r);
    s->size_bytes = codec_get_u64(r);
    s->modified_us = codec_get_u64(r);
    s->chunk_count = codec_get_u64(r);
    s->entry_count = codec_get_u64(r);
    s->file_count = codec_get_u64(r);
    s->bytes = codec_get_u64(r);
    s->entry_quota = codec_get_u64(r);
    s->byte_quota = codec_get_u64(r);
    s->owner = SLICE_EMPTY;
    s->mode = 0;
}

static void get_rights(struct codec_reader *r, struct gfs_stat *s)
{
    s->owner = message_bytes(r, GFS_TEXT_BYTES_MAX);
    s->mode = message_u32(r);
    r->bad |= s->mode > GFS_MODE_MAX;
}

int gfs_stat_get(struct slice in, struct gfs_stat *s, struct err *err)
{
    struct message_reader m = message_begin(in, STAT_FIELDS_OLD);
    get_stat(&m.r, s);
    if (m.count >= STAT_FIELDS) {
        m.known = STAT_FIELDS;
        get_rights(&m.r, s);
    }
    return message_end(&m, "state of a file", err);
}

void gfs_listing_put(const struct gfs_listing *l, struct buf *out)
{
    codec_put_array(out, LISTING_FIELDS);
    codec_put_bool(out, l->more);
    codec_put_array(out, (uint32_t)l->count);
    for (size_t i = 0; i < l->count; i++) {
        codec_put_array(out, ENTRY_FIELDS);
        codec_put_bin(out, l->entries[i].name);
        codec_put_array(out, STAT_FIELDS_OLD);
        put_stat(&l->entries[i].stat, out);
    }
    codec_put_array(out, (uint32_t)l->count);
    for (size_t i = 0; i < l->count; i++) {
        codec_put_array(out, RIGHTS_FIELDS);
        put_rights(&l->entries[i].stat, out);
    }
}

/* Owners and modes come after all entries, where older readers stop. */
static void get_all_rights(struct codec_reader *r, struct gfs_listing *l)
{
    r->bad |= message_count(r, GFS_LISTING_MAX) != l->count;
    for (size_t i = 0; i < l->count && !r->bad; i++) {
        message_part(r, RIGHTS_FIELDS);
        get_rights(r, &l->entries[i].stat);
    }
}

int gfs_listing_get(struct slice in,
                    struct arena *a,
                    struct gfs_listing *l,
                    struct err *err)
{
    struct message_reader m = message_begin(in, LISTING_FIELDS_OLD);
    l->more = codec_get_bool(&m.r);
    l->count = message_count(&m.r, GFS_LISTING_MAX);
    l->entries = arena_zalloc(a, (l->count + 1) * sizeof(*l->entries));
    for (size_t i = 0; i < l->count; i++) {
        message_part(&m.r, ENTRY_FIELDS);
        l->entries[i].name = message_bytes(&m.r, GFS_NAME_BYTES_MAX);
        message_part(&m.r, STAT_FIELDS_OLD);
        get_stat(&m.r, &l->entries[i].stat);
    }
    if (m.count >= LISTING_FIELDS) {
        m.known = LISTING_FIELDS;
        get_all_rights(&m.r, l);
    }
    return message_end(&m, "listing of the file system", err);
}

void gfs_path_grants_put(const struct gfs_path_grants *g, struct buf *out)
{
    codec_put_array(out, GRANTS_FIELDS);
    codec_put_array(out, (uint32_t)g->count);
    for (size_t i = 0; i < g->count; i++) {
        codec_put_array(out, GRANT_FIELDS);
        codec_put_bin(out, g->grants[i].path);
        codec_put_bin(out, g->grants[i].principal);
        codec_put_u64(out, g->grants[i].rights);
        codec_put_bool(out, g->grants[i].by_owner);
    }
}

int gfs_path_grants_get(struct slice in,
                        struct arena *a,
                        struct gfs_path_grants *g,
                        struct err *err)
{
    struct message_reader m = message_begin(in, GRANTS_FIELDS);
    g->count = message_count(&m.r, GFS_PATH_GRANTS_MAX);
    g->grants = arena_zalloc(a, (g->count + 1) * sizeof(*g->grants));
    for (size_t i = 0; i < g->count && !m.r.bad; i++) {
        message_part(&m.r, GRANT_FIELDS);
        g->grants[i].path = codec_get_bytes(&m.r);
        g->grants[i].principal = message_bytes(&m.r, GFS_TEXT_BYTES_MAX);
        g->grants[i].rights = message_u32(&m.r);
        g->grants[i].by_owner = codec_get_bool(&m.r);
    }
    return message_end(&m, "grants of the file system", err);
}

/* --- layouts ------------------------------------------------------------- */

static void put_chunk(const struct gfs_chunk *c, struct buf *out)
{
    codec_put_array(out, CHUNK_FIELDS);
    codec_put_u64(out, c->handle);
    codec_put_u64(out, c->version);
    codec_put_u64(out, c->length);
    codec_put_bool(out, c->sealed);
    codec_put_u64(out, c->offset);
    wire_put_servers(&c->servers, out);
}

static void get_chunk(struct codec_reader *r, struct gfs_chunk *c)
{
    message_part(r, CHUNK_FIELDS);
    c->handle = codec_get_u64(r);
    c->version = message_u32(r);
    c->length = message_u32(r);
    c->sealed = codec_get_bool(r);
    c->offset = codec_get_u64(r);
    wire_get_servers(r, &c->servers);
    r->bad |= c->length > GFS_CHUNK_BYTES;
}

static void put_server(const struct gfs_server *s, struct buf *out)
{
    codec_put_array(out, SERVER_FIELDS);
    codec_put_u64(out, s->number);
    codec_put_bin(out, s->address);
    codec_put_bin(out, s->machine);
    codec_put_bin(out, s->rack);
}

static void get_server(struct codec_reader *r, struct gfs_server *s)
{
    message_part(r, SERVER_FIELDS);
    s->number = message_u16(r);
    s->address = message_bytes(r, GFS_TEXT_BYTES_MAX);
    s->machine = message_bytes(r, GFS_TEXT_BYTES_MAX);
    s->rack = message_bytes(r, GFS_TEXT_BYTES_MAX);
}

void gfs_layout_put(const struct gfs_layout *l, struct buf *out)
{
    codec_put_array(out, LAYOUT_FIELDS);
    codec_put_u64(out, l->file);
    codec_put_u64(out, l->size_bytes);
    codec_put_bool(out, l->is_open);
    codec_put_array(out, (uint32_t)l->chunk_count);
    for (size_t i = 0; i < l->chunk_count; i++)
        put_chunk(&l->chunks[i], out);
    codec_put_array(out, (uint32_t)l->server_count);
    for (size_t i = 0; i < l->server_count; i++)
        put_server(&l->servers[i], out);
    codec_put_array(out, (uint32_t)l->chunk_count);
    for (size_t i = 0; i < l->chunk_count; i++)
        wire_put_proof(&l->chunks[i].proof, out);
}

static void get_proofs(struct codec_reader *r, struct gfs_layout *l)
{
    r->bad |= message_count(r, GFS_LAYOUT_MAX) != l->chunk_count;
    for (size_t i = 0; i < l->chunk_count && !r->bad; i++)
        wire_get_proof(r, &l->chunks[i].proof);
}

int gfs_layout_get(struct slice in,
                   struct arena *a,
                   struct gfs_layout *l,
                   struct err *err)
{
    struct message_reader m = message_begin(in, LAYOUT_FIELDS_OLD);
    l->file = codec_get_u64(&m.r);
    l->size_bytes = codec_get_u64(&m.r);
    l->is_open = codec_get_bool(&m.r);
    l->chunk_count = message_count(&m.r, GFS_LAYOUT_MAX);
    l->chunks = arena_zalloc(a, (l->chunk_count + 1) * sizeof(*l->chunks));
    for (size_t i = 0; i < l->chunk_count; i++)
        get_chunk(&m.r, &l->chunks[i]);
    l->server_count = message_count(&m.r, GFS_LAYOUT_MAX * GFS_REPLICAS_MAX);
    l->servers = arena_zalloc(a, (l->server_count + 1) * sizeof(*l->servers));
    for (size_t i = 0; i < l->server_count; i++)
        get_server(&m.r, &l->servers[i]);
    if (m.count >= LAYOUT_FIELDS) {
        m.known = LAYOUT_FIELDS;
        get_proofs(&m.r, l);
    }
    return message_end(&m, "layout of the file system", err);
}

/* --- state --------------------------------------------------------------- */

static void put_server_status(const struct gfs_server_status *s,
                              struct buf *out)
{
    codec_put_array(out, SERVER_STATUS_FIELDS);
    put_server(&s->server, out);
    codec_put_u64(out, s->own_id);
    codec_put_u64(out, (uint64_t)s->state);
    codec_put_bool(out, s->alive);
    codec_put_u64(out, s->capacity_bytes);
    codec_put_u64(out, s->free_bytes);
    codec_put_u64(out, s->chunk_count);
    codec_put_u64(out, s->heard_us_ago);
}

static void get_server_status(struct codec_reader *r,
                              struct gfs_server_status *s)
{
    uint32_t state;
    message_part(r, SERVER_STATUS_FIELDS);
    get_server(r, &s->server);
    s->own_id = codec_get_u64(r);
    state = message_u32(r);
    r->bad |= state > GFS_SERVER_GONE;
    s->state = (enum gfs_server_state)state;
    s->alive = codec_get_bool(r);
    s->capacity_bytes = codec_get_u64(r);
    s->free_bytes = codec_get_u64(r);
    s->chunk_count = codec_get_u64(r);
    s->heard_us_ago = codec_get_u64(r);
}

void gfs_status_put(const struct gfs_status *s, struct buf *out)
{
    codec_put_array(out, STATUS_FIELDS + STATUS_FIELDS_ADDED);
    codec_put_bool(out, s->safe_mode);
    codec_put_u64(out, s->files);
    codec_put_u64(out, s->directories);
    codec_put_u64(out, s->chunks);
    codec_put_u64(out, s->bytes);
    codec_put_u64(out, s->open_files);
    codec_put_u64(out, s->sessions);
    codec_put_u64(out, s->lost);
    codec_put_u64(out, s->under_replicated);
    codec_put_u64(out, s->copying);
    codec_put_array(out, (uint32_t)s->server_count);
    for (size_t i = 0; i < s->server_count; i++)
        put_server_status(&s->servers[i], out);
    codec_put_u64(out, s->unreported);
    codec_put_u64(out, s->over_replicated);
    codec_put_u64(out, s->under_since_us);
    codec_put_u64(out, s->lost_since_us);
}

int gfs_status_get(struct slice in,
                   struct arena *a,
                   struct gfs_status *s,
                   struct err *err)
{
    struct message_reader m = message_begin(in, STATUS_FIELDS);
    s->safe_mode = codec_get_bool(&m.r);
    s->files = codec_get_u64(&m.r);
    s->directories = codec_get_u64(&m.r);
    s->chunks = codec_get_u64(&m.r);
    s->bytes = codec_get_u64(&m.r);
    s->open_files = codec_get_u64(&m.r);
    s->sessions = codec_get_u64(&m.r);
    s->lost = codec_get_u64(&m.r);
    s->under_replicated = codec_get_u64(&m.r);
    s->copying = codec_get_u64(&m.r);
    s->server_count = message_count(&m.r, UINT16_MAX);
    s->servers = arena_zalloc(a, (s->server_count + 1) * sizeof(*s->servers));
    for (size_t i = 0; i < s->server_count; i++)
        get_server_status(&m.r, &s->servers[i]);
    s->unreported = codec_get_u64(&m.r);
    s->over_replicated = 0;
    s->under_since_us = 0;
    s->lost_since_us = 0;
    if (m.count >= STATUS_FIELDS + STATUS_FIELDS_ADDED) {
        m.known += STATUS_FIELDS_ADDED;
        s->over_replicated = codec_get_u64(&m.r);
        s->under_since_us = codec_get_u64(&m.r);
        s->lost_since_us = codec_get_u64(&m.r);
    }
    return message_end(&m, "status of the file system", err);
}

void gfs_findings_put(const struct gfs_findings *f, struct buf *out)
{
    codec_put_array(out, FINDINGS_FIELDS);
    codec_put_u64(out, f->files_checked);
    codec_put_bool(out, f->more);
    codec_put_bin(out, f->after);
    codec_put_array(out, (uint32_t)f->count);
    for (size_t i = 0; i < f->count; i++) {
        codec_put_array(out, FINDING_FIELDS);
        codec_put_bin(out, f->findings[i].path);
        codec_put_u64(out, f->findings[i].chunk);
        codec_put_u64(out, f->findings[i].wanted);
        codec_put_u64(out, f->findings[i].copies);
        codec_put_bool(out, f->findings[i].is_open);
    }
    codec_put_bool(out, f->early);
}

int gfs_findings_get(struct slice in,
                     struct arena *a,
                     struct gfs_findings *f,
                     struct err *err)
{
    struct message_reader m = message_begin(in, FINDINGS_FIELDS);
    f->files_checked = codec_get_u64(&m.r);
    f->more = codec_get_bool(&m.r);
    f->after = message_bytes(&m.r, GFS_PATH_BYTES_MAX);
    f->count = message_count(&m.r, GFS_FINDINGS_MAX);
    f->findings = arena_zalloc(a, (f->count + 1) * sizeof(*f->findings));
    for (size_t i = 0; i < f->count; i++) {
        message_part(&m.r, FINDING_FIELDS);
        f->findings[i].path = codec_get_bytes(&m.r);
        f->findings[i].chunk = codec_get_u64(&m.r);
        f->findings[i].wanted = message_u32(&m.r);
        f->findings[i].copies = message_u32(&m.r);
        f->findings[i].is_open = codec_get_bool(&m.r);
    }
    f->early = codec_get_bool(&m.r);
    return message_end(&m, "findings of the file system", err);
}
