/* Coding of Raft's messages. Entries travel in the attachment, which is not
 * copied. Fields that a newer member appends are skipped.
 */
#include "base/replica/replica_message.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/codec.h"

#define FIELDS 16
/* Those of a cluster that is at version 1, */
#define FIELDS_FIRST 15
/* and those that members of the first days send. */
#define FIELDS_MIN 14
/* An entry takes at least a term, a kind and a length. */
#define ENTRY_BYTES_MIN 3

enum {
    FLAG_TRANSFER = 1,
    FLAG_HAS_ENTRIES = 2,
    FLAG_LAST = 4,
    FLAG_RESTS = 8
};

static void put_entries(const struct raft_message *m, struct buf *out)
{
    PRE(m->kind == RAFT_APPEND || m->entry_count == 0);
    for (size_t i = 0; i < m->entry_count; i++) {
        const struct raft_entry *e = &m->entries[i];
        buf_put_varint(out, e->term);
        buf_put_u8(out, (uint8_t)e->kind);
        buf_put_lslice(out, raft_bytes_slice(e->bytes));
    }
}

void message_encode(uint64_t cell,
                    const struct raft_message *m,
                    struct buf *body,
                    struct buf *attachment)
{
    uint64_t flags = (m->transfer ? FLAG_TRANSFER : 0) |
                     (m->has_entries ? FLAG_HAS_ENTRIES : 0) |
                     (m->last ? FLAG_LAST : 0) | (m->rests ? FLAG_RESTS : 0);
    const uint64_t fields[FIELDS] = {
        cell,      m->kind,  m->refusal,    m->from,
        m->to,     m->term,  m->index,      m->index_term,
        m->commit, m->round, m->hint_index, m->hint_term,
        m->offset, flags,    m->silence_us, m->version};
    const uint32_t count = m->version > 1 ? FIELDS : FIELDS_FIRST;
    PRE(m->from != 0 && m->to != 0);
    PRE(m->kind == RAFT_APPEND || m->entry_count == 0);
    codec_put_array(body, count);
    for (size_t i = 0; i < count; i++)
        codec_put_u64(body, fields[i]);
    put_entries(m, attachment);
    buf_append_slice(attachment, buf_slice(&m->data));
}

static bool get_entry(struct cursor *c, struct raft_entry *e)
{
    uint8_t kind;
    struct slice bytes;
    e->term = cursor_varint(c);
    kind = cursor_u8(c);
    bytes = cursor_lslice(c);
    if (c->bad || kind < RAFT_ENTRY_COMMAND || kind > RAFT_ENTRY_CONFIG ||
        e->term == 0)
        return false;
    e->kind = (enum raft_entry_kind)kind;
    e->end_bytes = 0;
    e->bytes = raft_bytes_new(bytes);
    return true;
}

static int
get_entries(struct slice bytes, struct raft_message *m, struct err *err)
{
    struct cursor c = cursor_make(bytes);
    size_t cap = 0;
    while (cursor_left(&c)) {
        if (m->entry_count == cap) {
            /* Never more room than what is left could fill. */
            cap =
                MIN_OF(cap ? cap * 2 : 16,
                       m->entry_count + cursor_left(&c) / ENTRY_BYTES_MIN + 1);
            m->entries = mem_realloc(m->entries, cap * sizeof(*m->entries));
        }
        INVARIANT(m->entry_count < cap);
        if (!get_entry(&c, &m->entries[m->entry_count]))
            return err_set(err, ERR_CORRUPT, "replica message: bad entry");
        m->entry_count++;
    }
    return 0;
}

int message_decode(struct slice body,
                   struct slice attachment,
                   uint64_t *cell,
                   struct raft_message *out,
                   struct err *err)
{
    struct codec_reader c = codec_reader_make(body);
    uint32_t count = codec_get_array(&c);
    uint64_t f[FIELDS] = {0};
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < count; i++) {
        if (i < FIELDS)
            f[i] = codec_get_u64(&c);
        else
            codec_skip(&c);
    }
    if (!codec_done(&c) || count < FIELDS_MIN || f[1] < RAFT_PREVOTE ||
        f[1] > RAFT_TIMEOUT_NOW_REPLY || f[2] > RAFT_NEED_SNAPSHOT ||
        f[3] == 0 || f[15] > UINT32_MAX)
        return err_set(err, ERR_CORRUPT, "replica message: malformed");
    *cell = f[0];
    out->kind = (enum raft_message_kind)f[1];
    out->refusal = (enum raft_refusal)f[2];
    out->from = f[3];
    out->to = f[4];
    out->term = f[5];
    out->index = f[6];
    out->index_term = f[7];
    out->commit = f[8];
    out->round = f[9];
    out->hint_index = f[10];
    out->hint_term = f[11];
    out->offset = f[12];
    out->transfer = (f[13] & FLAG_TRANSFER) != 0;
    out->has_entries = (f[13] & FLAG_HAS_ENTRIES) != 0;
    out->last = (f[13] & FLAG_LAST) != 0;
    out->rests = (f[13] & FLAG_RESTS) != 0;
    out->silence_us = f[14];
    out->version = (uint32_t)f[15];
    if (out->kind == RAFT_APPEND)
        return get_entries(attachment, out, err);
    if (out->kind == RAFT_SNAPSHOT)
        buf_append_slice(&out->data, attachment);
    return 0;
}
