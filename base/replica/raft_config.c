/* Tables of members: lookup, change and coding. A table has at most nine rows,
 * so everything is a walk over it.
 */
#include "base/replica/raft_config.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

const struct raft_member *raft_config_find(const struct raft_config *c,
                                           uint64_t id)
{
    PRE(c->count <= RAFT_MEMBERS_MAX);
    for (size_t i = 0; i < c->count; i++)
        if (c->members[i].id == id)
            return &c->members[i];
    return NULL;
}

bool raft_config_votes(const struct raft_config *c, uint64_t id)
{
    const struct raft_member *m = raft_config_find(c, id);
    return m && m->voting;
}

size_t raft_config_voter_count(const struct raft_config *c)
{
    size_t n = 0;
    INVARIANT(c->count <= RAFT_MEMBERS_MAX);
    for (size_t i = 0; i < c->count; i++)
        n += c->members[i].voting;
    return n;
}

size_t raft_config_majority(const struct raft_config *c)
{
    return raft_config_voter_count(c) / 2 + 1;
}

bool raft_config_put(struct raft_config *c, const struct raft_member *m)
{
    PRE(m->id != 0);
    INVARIANT(c->count <= RAFT_MEMBERS_MAX);
    for (size_t i = 0; i < c->count; i++) {
        if (c->members[i].id == m->id) {
            c->members[i] = *m;
            return true;
        }
    }
    if (c->count == RAFT_MEMBERS_MAX)
        return false;
    c->members[c->count++] = *m;
    return true;
}

void raft_config_drop(struct raft_config *c, uint64_t id)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->members[i].id != id)
            continue;
        c->count--;
        memmove(&c->members[i], &c->members[i + 1],
                (c->count - i) * sizeof(c->members[0]));
        POST(!raft_config_find(c, id));
        return;
    }
}

bool raft_config_one_step(const struct raft_config *from,
                          const struct raft_config *to)
{
    size_t changes = 0;
    PRE(from->count <= RAFT_MEMBERS_MAX);
    PRE(to->count <= RAFT_MEMBERS_MAX);
    for (size_t i = 0; i < from->count; i++)
        changes += from->members[i].voting &&
                   !raft_config_votes(to, from->members[i].id);
    for (size_t i = 0; i < to->count; i++)
        changes += to->members[i].voting &&
                   !raft_config_votes(from, to->members[i].id);
    return changes <= 1;
}

void raft_config_encode(const struct raft_config *c, struct buf *out)
{
    PRE(c->count <= RAFT_MEMBERS_MAX);
    buf_put_varint(out, c->count);
    for (size_t i = 0; i < c->count; i++) {
        const struct raft_member *m = &c->members[i];
        buf_put_varint(out, m->id);
        buf_put_u8(out, m->voting);
        buf_put_lslice(out, slice_str(m->address));
    }
}

static bool decode_member(struct cursor *c, struct raft_member *m)
{
    struct slice address;
    uint8_t voting;
    memset(m, 0, sizeof(*m));
    m->id = cursor_varint(c);
    voting = cursor_u8(c);
    m->voting = voting != 0;
    address = cursor_lslice(c);
    if (c->bad || m->id == 0 || voting > 1 ||
        address.len >= RAFT_ADDRESS_BYTES ||
        slice_find_byte(address, '\0') != address.len)
        return false;
    if (address.len)
        memcpy(m->address, address.data, address.len);
    POST(m->address[RAFT_ADDRESS_BYTES - 1] == '\0');
    return true;
}

bool raft_config_decode(struct slice bytes, struct raft_config *out)
{
    struct cursor c = cursor_make(bytes);
    uint64_t count = cursor_varint(&c);
    memset(out, 0, sizeof(*out));
    if (c.bad || count > RAFT_MEMBERS_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct raft_member m;
        if (!decode_member(&c, &m) || raft_config_find(out, m.id))
            return false;
        raft_config_put(out, &m);
    }
    POST(out->count <= count);
    return cursor_left(&c) == 0;
}
