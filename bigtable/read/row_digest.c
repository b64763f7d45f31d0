/* Sums do not depend on the order in which cells come, so that they may be
 * added up over tablets and answers, and compared where families have other
 * names or another order.
 */
#include "bigtable/read/row_digest.h"

#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/core/text.h"

#define REQUEST "native row_digest "
/* Of the hashes of cells, and of that which ends pieces. */
#define SEED_FIRST  UINT64_C(0x7175617272790001)
#define SEED_SECOND UINT64_C(0x7175617272790002)
#define SEED_ENDS   UINT64_C(0x7175617272790003)
/* Of a request; no schema has as many families. */
#define FAMILIES_MAX ((size_t)65536)
/* A cell counts this beside its qualifier and its value. */
#define CELL_BYTES 10

struct row_digest {
    uint64_t piece_bytes;
    struct buf names; /* Of the families, length-prefixed. */
    struct buf last;  /* The last row that was added. */
    struct buf cell;  /* Scratch: what is hashed of one. */
    struct buf value; /* Of the piece that was taken. */
    struct quarry_cell made_cell;
    struct quarry_row made;
    struct row_digest_piece sum;
};

/* --- requests ------------------------------------------------------------ */

void row_digest_ask(struct buf *program,
                    uint64_t piece_bytes,
                    const char *const *families,
                    size_t count)
{
    PRE(piece_bytes > 0);
    buf_printf(program, REQUEST "%llu", (unsigned long long)piece_bytes);
    for (size_t i = 0; i < count; i++)
        buf_printf(program, " %s", families[i]);
}

bool row_digest_is_asked(struct slice program)
{
    return slice_starts_with(program, SLICE_LIT(REQUEST));
}

/* Take a word off @rest. */
static struct slice next_word(struct slice *rest)
{
    size_t n = slice_find_byte(*rest, ' ');
    struct slice word = slice_sub(*rest, 0, n);
    *rest = slice_sub(*rest, MIN_OF(n + 1, rest->len), rest->len);
    return word;
}

static int
read_request(struct row_digest *d, struct slice program, struct err *err)
{
    size_t head = sizeof(REQUEST) - 1;
    struct slice rest = slice_sub(program, head, program.len);
    size_t count = 0;
    bool bad = text_parse_u64(next_word(&rest), &d->piece_bytes, NULL) != 0 ||
               d->piece_bytes == 0;
    for (; !bad && rest.len; count++) {
        buf_put_lslice(&d->names, next_word(&rest));
        bad = count == FAMILIES_MAX;
    }
    POST(bad || (d->piece_bytes > 0 && count <= FAMILIES_MAX));
    return bad ? err_set(err, ERR_INVALID,
                         "a malformed request for digests of rows")
               : 0;
}

int row_digest_new(struct slice program,
                   struct row_digest **out,
                   struct err *err)
{
    struct row_digest *d = mem_zalloc(1, sizeof(*d));
    int rc;
    PRE(row_digest_is_asked(program));
    rc = read_request(d, program, err);
    if (rc) {
        row_digest_free(d);
        d = NULL;
    }
    *out = d;
    return rc;
}

void row_digest_free(struct row_digest *d)
{
    if (!d)
        return;
    buf_close(&d->names);
    buf_close(&d->last);
    buf_close(&d->cell);
    buf_close(&d->value);
    mem_free(d);
}

/* --- rows ---------------------------------------------------------------- */

static int find_place(const struct row_digest *d,
                      struct slice family,
                      uint64_t *place,
                      struct err *err)
{
    struct cursor at = cursor_make(buf_slice(&d->names));
    for (*place = 0; cursor_left(&at); (*place)++)
        if (slice_eq(cursor_lslice(&at), family))
            return 0;
    return err_set(err, ERR_INVALID,
                   "a request for digests does not name family %.*s",
                   SLICE_ARG(family));
}

static void add_cell(struct row_digest *d,
                     struct slice row,
                     const struct quarry_cell *c,
                     uint64_t place)
{
    struct buf *b = &d->cell;
    PRE(place < FAMILIES_MAX);
    buf_clear(b);
    buf_put_lslice(b, row);
    buf_put_varint(b, place);
    buf_put_lslice(b, c->qualifier);
    buf_put_varint(b, (uint64_t)c->timestamp_us);
    buf_append_slice(b, c->value);
    d->sum.sums[0] += hash64(b->data, b->len, SEED_FIRST);
    d->sum.sums[1] += hash64(b->data, b->len, SEED_SECOND);
}

/* Larger rows end pieces more often, so that these have about the size that was
 * asked for, whatever rows there are. */
static bool is_end(const struct row_digest *d, struct slice row, uint64_t bytes)
{
    PRE(bytes > 0 && d->piece_bytes > 0);
    return bytes >= d->piece_bytes ||
           hash64(row.data, row.len, SEED_ENDS) / bytes <
               UINT64_MAX / d->piece_bytes;
}

int row_digest_add(struct row_digest *d,
                   const struct quarry_row *row,
                   bool *ends,
                   struct err *err)
{
    uint64_t bytes = row->key.len + 1;
    PRE(d->sum.rows == 0 || slice_cmp(buf_slice(&d->last), row->key) < 0);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        uint64_t place;
        int rc = find_place(d, c->family, &place, err);
        if (rc)
            return rc;
        add_cell(d, row->key, c, place);
        bytes += CELL_BYTES + c->qualifier.len + c->value.len;
    }
    buf_clear(&d->last);
    buf_append_slice(&d->last, row->key);
    d->sum.rows++;
    d->sum.bytes += bytes;
    *ends = is_end(d, row->key, bytes);
    return 0;
}

const struct quarry_row *row_digest_take(struct row_digest *d, bool ended)
{
    struct buf *b = &d->value;
    if (d->sum.rows == 0)
        return NULL;
    buf_clear(b);
    buf_append_byte(b, (char)ended);
    buf_put_varint(b, d->sum.rows);
    buf_put_varint(b, d->sum.bytes);
    for (size_t i = 0; i < ROW_DIGEST_SUMS; i++)
        buf_put_le64(b, d->sum.sums[i]);
    d->sum = (struct row_digest_piece){.rows = 0};
    d->made_cell = (struct quarry_cell){.value = buf_slice(b)};
    d->made = (struct quarry_row){buf_slice(&d->last), &d->made_cell, 1};
    return &d->made;
}

bool row_digest_read(const struct quarry_row *row, struct row_digest_piece *out)
{
    struct cursor at;
    uint8_t ended;
    if (row->cell_count != 1 || row->cells[0].family.len)
        return false;
    at = cursor_make(row->cells[0].value);
    ended = cursor_u8(&at);
    *out = (struct row_digest_piece){.last = row->key, .ended = ended == 1};
    out->rows = cursor_varint(&at);
    out->bytes = cursor_varint(&at);
    for (size_t i = 0; i < ROW_DIGEST_SUMS; i++)
        out->sums[i] = cursor_le64(&at);
    return !at.bad && cursor_left(&at) == 0 && ended <= 1 && out->rows > 0;
}
