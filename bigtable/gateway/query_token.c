/* Both tokens: two bytes that say which, a version, the fields, and the CRC32C
 * of all before it.
 */
#include "bigtable/gateway/query_token.h"

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"

#define QUERY_MARK  "QP\x01"
#define PLACE_MARK  "QR\x01"
#define MARK_BYTES  3
#define CHECK_BYTES 4

static void begin_token(struct buf *out, const char *mark)
{
    PRE(out->len == 0);
    buf_append(out, mark, MARK_BYTES);
}

static void end_token(struct buf *out)
{
    buf_put_le32(out, crc32c(out->data, out->len));
}

/* The fields of a token; false: it is garbled, or another thing. */
static bool
open_token(struct slice bytes, const char *mark, struct cursor *fields)
{
    const size_t len = bytes.len - CHECK_BYTES;
    if (bytes.len < MARK_BYTES + CHECK_BYTES ||
        memcmp(bytes.data, mark, MARK_BYTES) != 0 ||
        get_le32(bytes.data + len) != crc32c(bytes.data, len))
        return false;
    *fields = cursor_make(slice_sub(bytes, MARK_BYTES, len));
    return true;
}

static bool is_whole(const struct cursor *c)
{
    return !c->bad && cursor_left(c) == 0;
}

void query_token_put(const struct query_token *t, struct buf *out)
{
    begin_token(out, QUERY_MARK);
    buf_put_varint(out, (uint64_t)t->until_us);
    buf_put_le64(out, t->schema);
    buf_put_lslice(out, t->instance);
    buf_put_lslice(out, t->text);
    buf_put_lslice(out, t->params);
    end_token(out);
}

int query_token_get(struct slice bytes,
                    struct query_token *out,
                    struct err *err)
{
    struct cursor c;
    if (open_token(bytes, QUERY_MARK, &c)) {
        out->until_us = (int64_t)cursor_varint(&c);
        out->schema = cursor_le64(&c);
        out->instance = cursor_lslice(&c);
        out->text = cursor_lslice(&c);
        out->params = cursor_lslice(&c);
        if (is_whole(&c))
            return 0;
    }
    return err_set(err, ERR_INVALID,
                   "prepared_query: not what PrepareQuery answered");
}

void query_place_put(const struct query_place *p, struct buf *out)
{
    begin_token(out, PLACE_MARK);
    buf_put_le64(out, p->query);
    buf_put_u8(out, p->at_end);
    buf_put_varint(out, p->rows);
    buf_put_lslice(out, p->key);
    end_token(out);
}

int query_place_get(struct slice bytes,
                    uint64_t query,
                    struct query_place *out,
                    struct err *err)
{
    struct cursor c;
    bool good = open_token(bytes, PLACE_MARK, &c);
    if (good) {
        uint8_t flag;
        out->query = cursor_le64(&c);
        flag = cursor_u8(&c);
        out->at_end = flag == 1;
        out->rows = cursor_varint(&c);
        out->key = cursor_lslice(&c);
        good = is_whole(&c) && flag <= 1;
    }
    if (!good)
        return err_set(err, ERR_INVALID,
                       "resume_token: not one that ExecuteQuery sent");
    if (out->query != query)
        return err_set(err, ERR_INVALID,
                       "resume_token: of another query, or of other "
                       "parameters");
    return 0;
}
