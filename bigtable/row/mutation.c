/* Building, checking and reading mutations. Operations are encoded when they
 * are added, in the form that the log keeps: a mutation is one buffer, which
 * travels and is logged without being taken apart. Bytes from outside are
 * checked once, by mutation_borrow(), against the bounds that the builders
 * keep.
 */
#include "bigtable/row/mutation.h"

#include "base/core/panic.h"
#include "bigtable/row/schema.h" /* FAMILY_NAME_BYTES_MAX */

/* Longer names are not written over where they lie. */
#define IN_PLACE_NAMES_BYTES_MAX ((size_t)512)

int row_name_check(struct slice row, struct err *err)
{
    if (row.len == 0)
        return err_set(err, ERR_INVALID, "the row key is empty");
    if (row.len > ROW_NAME_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "the row key has %zu bytes; at most %zu are allowed",
                       row.len, ROW_NAME_BYTES_MAX);
    return 0;
}

void mutation_init(struct quarry_mutation *m, struct slice row)
{
    *m = (struct quarry_mutation){.count = 0};
    mutation_reset(m, row);
}

void mutation_close(struct quarry_mutation *m)
{
    buf_close(&m->row);
    buf_close(&m->ops);
    mem_free(m->error);
}

/* Where the first mistake is written. Most mutations have none, and many of
 * them are in memory at once: a text in each would cost more than the rest. */
static struct err *mutation_mistake(struct quarry_mutation *m)
{
    PRE(!m->error);
    m->error = mem_zalloc(1, sizeof(*m->error));
    return m->error;
}

void mutation_reset(struct quarry_mutation *m, struct slice row)
{
    buf_clear(&m->row);
    buf_clear(&m->ops);
    m->count = 0;
    mem_free(m->error);
    m->error = NULL;
    if (row_name_check(row, NULL) == 0)
        buf_append_slice(&m->row, row);
    else
        (void)!row_name_check(row, mutation_mistake(m));
}

static struct buf mutation_borrow_slice(struct slice s)
{
    return (struct buf){
        .data = (char *)(uintptr_t)s.data, .len = s.len, .cap = s.len};
}

void mutation_begin(struct quarry_mutation *m,
                    struct slice row,
                    char *room,
                    size_t room_bytes)
{
    *m = (struct quarry_mutation){.row = mutation_borrow_slice(row),
                                  .ops = {.data = room, .cap = room_bytes}};
    if (row_name_check(row, NULL))
        (void)!row_name_check(row, mutation_mistake(m));
}

void mutation_end(struct quarry_mutation *m)
{
    mem_free(m->error);
    m->error = NULL;
}

/* Most operations of one that has @ops so far: an origin does not count. */
static size_t count_max(const struct buf *ops)
{
    return MUTATION_COUNT_MAX +
           (ops->len > 0 && ops->data[0] == MUTATION_ORIGIN);
}

/* Are @family and @qualifier short enough, and is there room for @bytes? */
static bool may_add(struct quarry_mutation *m,
                    struct slice family,
                    struct slice qualifier,
                    size_t bytes)
{
    if (m->error)
        return false;
    if (family.len > FAMILY_NAME_BYTES_MAX)
        err_set(mutation_mistake(m), ERR_TOOBIG,
                "the family name \"%.16s...\" has %zu bytes; at most %d are "
                "allowed",
                family.data, family.len, FAMILY_NAME_BYTES_MAX);
    else if (qualifier.len > QUALIFIER_BYTES_MAX)
        err_set(mutation_mistake(m), ERR_TOOBIG,
                "the qualifier in family %.*s has %zu bytes; at most %zu are "
                "allowed",
                SLICE_ARG(family), qualifier.len, QUALIFIER_BYTES_MAX);
    else if (bytes > VALUE_BYTES_MAX)
        err_set(mutation_mistake(m), ERR_TOOBIG,
                "the value of %.*s:%.*s has %zu bytes; at most %zu are allowed",
                SLICE_ARG(family), SLICE_ARG(qualifier), bytes,
                VALUE_BYTES_MAX);
    else if (m->ops.len + bytes > MUTATION_BYTES_MAX)
        err_set(mutation_mistake(m), ERR_TOOBIG,
                "the changes of one row exceed %zu bytes", MUTATION_BYTES_MAX);
    else if (m->count >= count_max(&m->ops))
        err_set(mutation_mistake(m), ERR_TOOBIG,
                "more than %zu changes of one row", MUTATION_COUNT_MAX);
    return !m->error;
}

static char *put_lslice(char *p, struct slice s)
{
    p = put_varint(p, s.len);
    if (s.len)
        memcpy(p, s.data, s.len);
    return p + s.len;
}

/* The kind, three lengths, two times. */
STATIC_ASSERT(1 + VARINT64_BYTES_MAX * 3 + 16 <= MUTATION_OP_BYTES,
              "what an operation takes besides its names and its value");

static char *put_names(char *p,
                       enum mutation_kind kind,
                       struct slice family,
                       struct slice qualifier)
{
    *p++ = (char)kind;
    p = put_lslice(p, family);
    if (kind == MUTATION_DELETE_CELLS || mutation_kind_has_value(kind))
        p = put_lslice(p, qualifier);
    return p;
}

/* Reserve room for an operation and write its kind, family and qualifier. */
static char *start_op(struct quarry_mutation *m,
                      enum mutation_kind kind,
                      struct slice family,
                      struct slice qualifier,
                      size_t extra)
{
    char *p = buf_reserve(&m->ops, 1 + VARINT64_BYTES_MAX * 3 + family.len +
                                       qualifier.len + extra);
    m->count++;
    return put_names(p, kind, family, qualifier);
}

static void end_op(struct quarry_mutation *m, const char *end)
{
    m->ops.len = (size_t)(end - m->ops.data);
    INVARIANT(m->ops.len <= m->ops.cap);
}

static void add_valued(struct quarry_mutation *m,
                       enum mutation_kind kind,
                       struct slice family,
                       struct slice qualifier,
                       int64_t timestamp_us,
                       struct slice value)
{
    char *p;
    if (!may_add(m, family, qualifier, value.len))
        return;
    if (timestamp_us == INT64_MAX) {
        err_set(mutation_mistake(m), ERR_INVALID,
                "the timestamp of %.*s:%.*s is the largest there is, which "
                "stands for no bound",
                SLICE_ARG(family), SLICE_ARG(qualifier));
        return;
    }
    p = start_op(m, kind, family, qualifier, 8 + value.len);
    put_le64(p, (uint64_t)timestamp_us);
    end_op(m, put_lslice(p + 8, value));
}

void mutation_set(struct quarry_mutation *m,
                  struct slice family,
                  struct slice qualifier,
                  int64_t timestamp_us,
                  struct slice value)
{
    add_valued(m, MUTATION_SET, family, qualifier, timestamp_us, value);
}

void mutation_operand(struct quarry_mutation *m,
                      enum mutation_kind kind,
                      struct slice family,
                      struct slice qualifier,
                      int64_t timestamp_us,
                      struct slice operand)
{
    PRE(kind == MUTATION_ADD || kind == MUTATION_MERGE);
    add_valued(m, kind, family, qualifier, timestamp_us, operand);
}

bool mutation_set_in_place(struct quarry_mutation *m,
                           struct slice family,
                           struct slice qualifier,
                           int64_t timestamp_us,
                           char *room,
                           struct slice value)
{
    char head[MUTATION_OP_BYTES + IN_PLACE_NAMES_BYTES_MAX];
    char *p;
    size_t bytes;
    PRE(m->count == 0);
    if (m->error || family.len > FAMILY_NAME_BYTES_MAX ||
        family.len + qualifier.len > IN_PLACE_NAMES_BYTES_MAX ||
        value.len > VALUE_BYTES_MAX || timestamp_us == INT64_MAX)
        return false;
    p = put_names(head, MUTATION_SET, family, qualifier);
    put_le64(p, (uint64_t)timestamp_us);
    p = put_varint(p + 8, value.len);
    bytes = (size_t)(p - head);
    if (value.len == 0 || (size_t)(value.data - room) < bytes)
        return false;
    m->ops = mutation_borrow_slice(
        slice_make(value.data - bytes, bytes + value.len));
    m->count = 1;
    memcpy(m->ops.data, head, bytes);
    return true;
}

void mutation_delete_cells(struct quarry_mutation *m,
                           struct slice family,
                           struct slice qualifier,
                           int64_t min_us,
                           int64_t max_us)
{
    char *p;
    if (!may_add(m, family, qualifier, 0))
        return;
    if (max_us == 0 && min_us != 0)
        max_us = INT64_MAX;
    if (min_us > max_us || (min_us == max_us && min_us != 0)) {
        err_set(mutation_mistake(m), ERR_INVALID,
                "deletion in %.*s:%.*s: the time range [%lld, %lld) is empty",
                SLICE_ARG(family), SLICE_ARG(qualifier), (long long)min_us,
                (long long)max_us);
        return;
    }
    p = start_op(m, MUTATION_DELETE_CELLS, family, qualifier, 16);
    put_le64(p, (uint64_t)min_us);
    put_le64(p + 8, (uint64_t)max_us);
    end_op(m, p + 16);
}

void mutation_delete_family(struct quarry_mutation *m, struct slice family)
{
    if (may_add(m, family, SLICE_EMPTY, 0))
        end_op(m, start_op(m, MUTATION_DELETE_FAMILY, family, SLICE_EMPTY, 0));
}

void mutation_delete_row(struct quarry_mutation *m)
{
    if (may_add(m, SLICE_EMPTY, SLICE_EMPTY, 0))
        end_op(m,
               start_op(m, MUTATION_DELETE_ROW, SLICE_EMPTY, SLICE_EMPTY, 0));
}

void mutation_set_origin(struct quarry_mutation *m,
                         const struct quarry_origin *origin,
                         uint64_t here)
{
    char *p;
    PRE(m->count == 0);
    if (m->error)
        return;
    if (origin->site == 0 || origin->us < 0) {
        err_set(mutation_mistake(m), ERR_INVALID,
                "a change of another site names it by a number above 0, and "
                "has a time");
        return;
    }
    p = start_op(m, MUTATION_ORIGIN, SLICE_EMPTY, SLICE_EMPTY,
                 MUTATION_ORIGIN_BYTES);
    put_le64(p, origin->site);
    put_le64(p + 8, (uint64_t)origin->us);
    put_le64(p + 16, origin->sequence);
    put_le64(p + 24, here);
    end_op(m, p + MUTATION_ORIGIN_BYTES);
}

bool entry_origin(struct slice value, struct quarry_origin *out)
{
    if (value.len < ENTRY_ORIGIN_BYTES)
        return false;
    out->site = get_le64(value.data);
    out->us = (int64_t)get_le64(value.data + 8);
    out->sequence = get_le64(value.data + 16);
    return out->site != 0 && out->us >= 0;
}

bool mutation_origin(const struct quarry_mutation *m,
                     struct quarry_origin *origin,
                     uint64_t *here)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    if (m->ops.len == 0 || m->ops.data[0] != MUTATION_ORIGIN ||
        !mutation_next(&c, &op))
        return false;
    *here = get_le64(op.value.data + ENTRY_ORIGIN_BYTES);
    return entry_origin(op.value, origin);
}

int mutation_check(const struct quarry_mutation *m, struct err *err)
{
    if (m->error)
        return err_copy(err, m->error);
    if (m->count == 0)
        return err_set(err, ERR_INVALID, "the mutation changes nothing");
    return 0;
}

/* One that the builders could have made, as operation @n of its mutation. */
static int check_op(const struct mutation_op *op, size_t n, struct err *err)
{
    struct quarry_origin origin;
    if (op->kind == MUTATION_ORIGIN &&
        (n > 0 || !entry_origin(op->value, &origin)))
        return err_set(err, ERR_INVALID,
                       "the origin of a change is malformed or misplaced");
    if (op->family.len > FAMILY_NAME_BYTES_MAX ||
        op->qualifier.len > QUALIFIER_BYTES_MAX ||
        op->value.len > VALUE_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "a name or a value of a change is too long");
    if ((mutation_kind_has_value(op->kind) && op->timestamp_us == INT64_MAX) ||
        (op->kind == MUTATION_DELETE_CELLS &&
         (op->timestamp_us > op->max_us ||
          (op->timestamp_us == op->max_us && op->max_us != 0))))
        return err_set(err, ERR_INVALID, "a time range of a change is empty");
    return 0;
}

int mutation_borrow(struct slice row,
                    struct slice ops,
                    size_t count,
                    struct quarry_mutation *out,
                    struct err *err)
{
    struct cursor c = cursor_make(ops);
    struct mutation_op op;
    size_t n = 0;
    int rc = row_name_check(row, err);
    if (rc == 0 &&
        (ops.len > MUTATION_BYTES_MAX || count > MUTATION_COUNT_MAX + 1))
        rc = err_set(err, ERR_TOOBIG, "too many changes of one row");
    for (; rc == 0 && n <= count && mutation_next(&c, &op); n++)
        rc = check_op(&op, n, err);
    if (rc)
        return rc;
    if (c.bad || c.p != c.end || n != count)
        return err_set(err, ERR_CORRUPT, "malformed changes of a row");
    *out = (struct quarry_mutation){.row = mutation_borrow_slice(row),
                                    .ops = mutation_borrow_slice(ops),
                                    .count = count};
    return 0;
}

static inline struct slice next_slice(struct cursor *c)
{
    size_t len = (size_t)cursor_short_varint(c);
    const char *p = c->p;
    if (UNLIKELY(c->bad || len > cursor_left(c))) {
        c->bad = true;
        return SLICE_EMPTY;
    }
    c->p += len;
    return slice_make(p, len);
}

bool mutation_next(struct cursor *c, struct mutation_op *op)
{
    if (c->p == c->end || c->bad)
        return false;
    op->kind = (enum mutation_kind)(unsigned char)*c->p++;
    op->family = next_slice(c);
    op->qualifier =
        SLICE_EMPTY;         /* Copied from each other, they would have to */
    op->value = SLICE_EMPTY; /* be in memory first. */
    op->timestamp_us = op->max_us = 0;
    switch (op->kind) {
    case MUTATION_SET:
    case MUTATION_ADD:
    case MUTATION_MERGE:
        op->qualifier = next_slice(c);
        op->timestamp_us = (int64_t)cursor_le64(c);
        op->value = next_slice(c);
        break;
    case MUTATION_DELETE_CELLS:
        op->qualifier = next_slice(c);
        op->timestamp_us = (int64_t)cursor_le64(c);
        op->max_us = (int64_t)cursor_le64(c);
        break;
    case MUTATION_ORIGIN:
        op->value = cursor_bytes(c, MUTATION_ORIGIN_BYTES);
        break;
    case MUTATION_DELETE_FAMILY:
    case MUTATION_DELETE_ROW: break;
    default: c->bad = true;
    }
    return !c->bad;
}

static void delete_cells_entry(const struct mutation_op *op,
                               struct cell_key *key,
                               struct slice *value,
                               char range[16])
{
    if (op->timestamp_us == 0 && op->max_us == 0) {
        key->kind = ENTRY_DELETE_COLUMN;
    } else if (op->max_us - 1 == op->timestamp_us) {
        key->kind = ENTRY_DELETE_CELL;
        key->timestamp_us = op->timestamp_us;
    } else {
        key->kind = ENTRY_DELETE_RANGE;
        put_le64(range, (uint64_t)op->timestamp_us);
        put_le64(range + 8, (uint64_t)op->max_us);
        *value = slice_make(range, 16);
    }
}

void mutation_entry(const struct mutation_op *op,
                    family_id family,
                    int64_t now_us,
                    struct cell_key *key,
                    struct slice *value,
                    char range[16])
{
    key->family = family;
    key->qualifier = op->qualifier;
    key->timestamp_us = INT64_MAX;
    *value = SLICE_EMPTY;
    switch (op->kind) {
    case MUTATION_SET:
    case MUTATION_ADD:
    case MUTATION_MERGE:
        key->kind = op->kind == MUTATION_SET   ? ENTRY_PUT
                    : op->kind == MUTATION_ADD ? ENTRY_ADD
                                               : ENTRY_MERGE;
        key->timestamp_us =
            op->timestamp_us == MUTATION_NOW ? now_us : op->timestamp_us;
        *value = op->value;
        break;
    case MUTATION_DELETE_CELLS:
        delete_cells_entry(op, key, value, range);
        break;
    case MUTATION_DELETE_FAMILY: key->kind = ENTRY_DELETE_FAMILY; break;
    case MUTATION_DELETE_ROW:
        key->kind = ENTRY_DELETE_ROW;
        key->family = 0;
        break;
    case MUTATION_ORIGIN:
        key->kind = ENTRY_ORIGIN;
        key->family = 0;
        *value = slice_sub(op->value, 0, ENTRY_ORIGIN_BYTES);
        break;
    }
}
