/* Messages of etcd, field by field: numbers of fields are those of etcd's
 * rpc.proto and kv.proto, of which a dozen messages are used.
 */
#include "chubby-lite/etcd/etcd_message.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/pb.h"

/* --- keys ---------------------------------------------------------------- */

void etcd_put_key(const char *root, const char *path, struct buf *out)
{
    const char *slash = strrchr(path, '/');

    PRE(slash);
    if (strcmp(path, root) == 0)
        buf_append_str(out, path);
    else
        buf_printf(out, "%.*s/%s", (int)(slash - path), path, slash);
}

void etcd_put_children(const char *path, struct buf *begin, struct buf *end)
{
    buf_printf(begin, "%s//", path);
    buf_printf(end, "%s/0", path); /* '0' is the byte after '/'. */
}

/* --- requests ------------------------------------------------------------ */

/* RangeRequest */
enum {
    RANGE_KEY = 1,
    RANGE_END = 2,
    RANGE_SERIALIZABLE = 7,
    RANGE_KEYS_ONLY = 8,
};

void etcd_put_get(struct slice key, bool old, struct buf *out)
{
    pb_put_bytes(out, RANGE_KEY, key);
    if (old)
        pb_put_integer(out, RANGE_SERIALIZABLE, 1);
}

/* Compare */
enum {
    COMPARE_EQUAL = 0,
    COMPARE_GREATER = 1
};

enum {
    COMPARE_VERSION = 0,
    COMPARE_CREATED = 1
};

/* A TxnRequest while it is put together. */
struct txn {
    const char *root;
    uint64_t lease;
    struct buf conditions;
    struct buf changes;
    size_t condition_count;
};

static void put_condition(struct txn *t,
                          struct slice key,
                          struct slice end,
                          int result,
                          int target,
                          int64_t value)
{
    struct buf *out = &t->conditions;
    size_t at = pb_open(out, 1);

    pb_put_integer(out, 1, result);
    pb_put_integer(out, 2, target);
    pb_put_bytes(out, 3, key);
    pb_put_integer(out, target == COMPARE_VERSION ? 4 : 5, value);
    if (end.len > 0)
        pb_put_bytes(out, 64, end);
    pb_close(out, at);
    t->condition_count++;
}

/* It is there, in @version. */
static void require_value(struct txn *t, struct slice key, int64_t version)
{
    if (version == COORDINATION_ANY)
        put_condition(t, key, SLICE_EMPTY, COMPARE_GREATER, COMPARE_CREATED, 0);
    else
        put_condition(t, key, SLICE_EMPTY, COMPARE_EQUAL, COMPARE_VERSION,
                      version + 1);
}

/* No key is in the range: the comparison is made with each, or, where there is
 * none, with one that was never made. */
static void require_none(struct txn *t, struct slice key, struct slice end)
{
    put_condition(t, key, end, COMPARE_EQUAL, COMPARE_CREATED, 0);
}

static void require_childless(struct txn *t, const char *path)
{
    struct buf begin = BUF_INIT;
    struct buf end = BUF_INIT;

    etcd_put_children(path, &begin, &end);
    require_none(t, buf_slice(&begin), buf_slice(&end));
    buf_close(&begin);
    buf_close(&end);
}

/* A value is made below one that is there, or is made along with it. */
static void require_above(struct txn *t,
                          const char *path,
                          const struct coordination_op *ops,
                          size_t count)
{
    char *above = mem_strdup(path);
    struct buf key = BUF_INIT;
    bool is_made = false;

    *strrchr(above, '/') = '\0';
    for (size_t i = 0; i < count; i++)
        is_made |= ops[i].kind == COORDINATION_CREATE &&
                   strcmp(ops[i].path, above) == 0;
    if (!is_made && strcmp(path, t->root) != 0) {
        etcd_put_key(t->root, above, &key);
        require_value(t, buf_slice(&key), COORDINATION_ANY);
    }
    buf_close(&key);
    mem_free(above);
}

/* A PutRequest: a value that is changed stays bound to its lease. */
static void
change_value(struct txn *t, struct slice key, const struct coordination_op *op)
{
    struct buf *out = &t->changes;
    size_t change = pb_open(out, 2);
    size_t put = pb_open(out, 2);

    pb_put_bytes(out, 1, key);
    pb_put_bytes(out, 2, op->value);
    if (op->kind == COORDINATION_SET)
        pb_put_integer(out, 6, 1);
    else if (op->of_session)
        pb_put_integer(out, 3, (int64_t)t->lease);
    pb_close(out, put);
    pb_close(out, change);
}

/* A DeleteRangeRequest. */
static void remove_value(struct txn *t, struct slice key)
{
    struct buf *out = &t->changes;
    size_t change = pb_open(out, 2);
    size_t removal = pb_open(out, 3);

    pb_put_bytes(out, 1, key);
    pb_close(out, removal);
    pb_close(out, change);
}

static void put_op(struct txn *t,
                   const struct coordination_op *op,
                   const struct coordination_op *ops,
                   size_t count)
{
    struct buf b = BUF_INIT;
    struct slice key;

    etcd_put_key(t->root, op->path, &b);
    key = buf_slice(&b);
    switch (op->kind) {
    case COORDINATION_CHECK: require_value(t, key, op->version); break;
    case COORDINATION_CREATE:
        require_none(t, key, SLICE_EMPTY);
        require_above(t, op->path, ops, count);
        change_value(t, key, op);
        break;
    case COORDINATION_SET:
        require_value(t, key, op->version);
        change_value(t, key, op);
        break;
    case COORDINATION_DELETE:
        require_value(t, key, op->version);
        if (!op->of_session)
            require_childless(t, op->path);
        remove_value(t, key);
        break;
    }
    buf_close(&b);
}

int etcd_put_transaction(const char *root,
                         const struct coordination_op *ops,
                         size_t count,
                         uint64_t lease,
                         struct buf *out,
                         struct err *err)
{
    struct txn t = {.root = root, .lease = lease};
    int rc = 0;

    for (size_t i = 0; i < count; i++)
        put_op(&t, &ops[i], ops, count);
    if (t.condition_count > ETCD_OPS_MAX)
        rc = err_set(err, ERR_EXHAUSTED,
                     "a transaction of %zu conditions; etcd takes %d",
                     t.condition_count, ETCD_OPS_MAX);
    buf_append_slice(out, buf_slice(&t.conditions));
    buf_append_slice(out, buf_slice(&t.changes));
    buf_close(&t.conditions);
    buf_close(&t.changes);
    return rc;
}

void etcd_put_list(struct slice key,
                   struct slice begin,
                   struct slice end,
                   bool old,
                   struct buf *out)
{
    size_t op = pb_open(out, 2);
    size_t range = pb_open(out, 1);

    pb_put_bytes(out, RANGE_KEY, key);
    pb_put_integer(out, RANGE_SERIALIZABLE, old);
    pb_put_integer(out, RANGE_KEYS_ONLY, 1);
    pb_close(out, range);
    pb_close(out, op);
    op = pb_open(out, 2);
    range = pb_open(out, 1);
    pb_put_bytes(out, RANGE_KEY, begin);
    pb_put_bytes(out, RANGE_END, end);
    pb_put_integer(out, RANGE_SERIALIZABLE, old);
    pb_put_integer(out, RANGE_KEYS_ONLY, 1);
    pb_close(out, range);
    pb_close(out, op);
}

void etcd_put_grant(uint64_t ttl_s, struct buf *out)
{
    pb_put_integer(out, 1, (int64_t)ttl_s);
}

void etcd_put_lease(uint64_t lease, struct buf *out)
{
    pb_put_integer(out, 1, (int64_t)lease);
}

void etcd_put_authenticate(struct slice user,
                           struct slice password,
                           struct buf *out)
{
    pb_put_bytes(out, 1, user);
    pb_put_bytes(out, 2, password);
}

void etcd_put_watch(uint64_t id,
                    struct slice key,
                    struct slice end,
                    uint64_t revision,
                    struct buf *out)
{
    size_t at = pb_open(out, 1);

    pb_put_bytes(out, 1, key);
    if (end.len > 0)
        pb_put_bytes(out, 2, end);
    pb_put_integer(out, 3, (int64_t)revision);
    pb_put_integer(out, 7, (int64_t)id);
    pb_put_integer(out, 8, 1); /* Large answers come in pieces. */
    pb_close(out, at);
}

void etcd_put_watch_cancel(uint64_t id, struct buf *out)
{
    size_t at = pb_open(out, 2);

    pb_put_integer(out, 1, (int64_t)id);
    pb_close(out, at);
}

/* --- answers ------------------------------------------------------------- */

static int bad_answer(const char *what, struct err *err)
{
    return err_set(err, ERR_CORRUPT, "etcd: malformed answer: %s", what);
}

static int read_header(struct slice message,
                       struct etcd_header *out,
                       const char *what,
                       struct err *err)
{
    struct slice header = pb_find(message, 1);

    *out = (struct etcd_header){.revision = 0};
    if (!pb_is_message(message) || !pb_is_message(header))
        return bad_answer(what, err);
    out->revision = pb_find_integer(header, 3);
    out->term = pb_find_integer(header, 4);
    return 0;
}

static int read_value(struct slice kv, struct etcd_value *out, struct err *err)
{
    uint64_t version = pb_find_integer(kv, 4);

    if (!pb_is_message(kv) || version > INT64_MAX)
        return bad_answer("a value", err);
    *out = (struct etcd_value){.found = true,
                               .key = pb_find(kv, 1),
                               .created = pb_find_integer(kv, 2),
                               .modified = pb_find_integer(kv, 3),
                               .version = (int64_t)version - 1,
                               .value = pb_find(kv, 5)};
    return 0;
}

int etcd_get_value(struct slice message,
                   struct etcd_header *header,
                   struct etcd_value *out,
                   struct err *err)
{
    int rc = read_header(message, header, "of a read", err);

    *out = (struct etcd_value){.found = false};
    if (!rc && pb_has_field(message, 2))
        rc = read_value(pb_find(message, 2), out, err);
    if (!rc && out->found && (out->version < 0 || out->created == 0))
        rc = bad_answer("a value without a version", err);
    return rc;
}

/* The RangeResponses in a TxnResponse. */
static int read_ranges(struct slice message,
                       struct slice *out,
                       size_t wanted,
                       struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    size_t count = 0;

    while (pb_next(&c, &f)) {
        if (!pb_is_bytes(&f, 3))
            continue;
        if (count == wanted || !pb_is_message(f.bytes))
            return bad_answer("of a transaction", err);
        out[count] = pb_find(f.bytes, 1);
        if (!pb_is_message(out[count++]))
            return bad_answer("of a range", err);
    }
    return count == wanted ? 0 : bad_answer("parts of it are missing", err);
}

static int add_name(struct slice kv,
                    struct slice begin,
                    char ***names,
                    size_t *count,
                    size_t *room,
                    struct err *err)
{
    struct slice key = pb_find(kv, 1);

    if (!pb_is_message(kv) || key.len <= begin.len ||
        !slice_starts_with(key, begin))
        return bad_answer("a key that is elsewhere", err);
    key = slice_sub(key, begin.len, key.len);
    if (memchr(key.data, 0, key.len) || memchr(key.data, '/', key.len))
        return 0; /* Somebody else's. */
    if (*count == *room) {
        *room = *room * 2 + 8;
        *names = mem_realloc(*names, *room * sizeof(char *));
    }
    (*names)[(*count)++] = mem_strndup(key.data, key.len);
    return 0;
}

int etcd_get_names(struct slice message,
                   struct slice begin,
                   struct etcd_header *header,
                   char ***names,
                   size_t *count,
                   struct err *err)
{
    struct slice ranges[2] = {SLICE_EMPTY, SLICE_EMPTY};
    struct cursor c;
    struct pb_field f;
    size_t room = 1;
    int rc = read_header(message, header, "of a list", err);

    if (!rc)
        rc = read_ranges(message, ranges, ARRAY_LEN(ranges), err);
    if (!rc && !pb_has_field(ranges[0], 2))
        rc = err_set(err, ERR_NOTFOUND, "no such value");
    if (rc)
        return rc;
    *names = mem_zalloc(room, sizeof(char *));
    *count = 0;
    c = cursor_make(ranges[1]);
    while (!rc && pb_next(&c, &f))
        if (pb_is_bytes(&f, 2))
            rc = add_name(f.bytes, begin, names, count, &room, err);
    if (!rc && pb_find_integer(ranges[1], 3))
        rc = bad_answer("a list without its end", err);
    if (rc)
        chubby_names_free(*names, *count);
    return rc;
}

int etcd_get_outcome(struct slice message,
                     struct etcd_header *header,
                     bool *made,
                     struct err *err)
{
    int rc = read_header(message, header, "of a transaction", err);

    *made = !rc && pb_find_integer(message, 2) == 1;
    if (*made && header->revision == 0)
        rc = bad_answer("a transaction without a revision", err);
    return rc;
}

int etcd_get_lease(struct slice message,
                   struct etcd_header *header,
                   uint64_t *lease,
                   uint64_t *ttl_s,
                   struct err *err)
{
    int rc = read_header(message, header, "of a lease", err);

    *lease = pb_find_integer(message, 2);
    *ttl_s = pb_find_integer(message, 3);
    if (!rc && (*lease == 0 || *lease > INT64_MAX))
        rc = bad_answer("a lease without a number", err);
    if (*ttl_s > INT64_MAX) /* It is negative. */
        *ttl_s = 0;
    return rc;
}

int etcd_get_token(struct slice message, struct slice *token, struct err *err)
{
    *token = pb_find(message, 2);
    for (size_t i = 0; i < token->len; i++)
        if ((unsigned char)token->data[i] <= ' ' ||
            (unsigned char)token->data[i] > '~')
            return bad_answer("a token", err);
    return pb_is_message(message) && token->len > 0
               ? 0
               : bad_answer("a token", err);
}

int etcd_get_notice(struct slice message,
                    struct etcd_notice *out,
                    struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    int rc;

    *out = (struct etcd_notice){.events = message};
    rc = read_header(message, &out->header, "of a watch", err);
    out->id = pb_find_integer(message, 2);
    out->created = pb_find_integer(message, 3) == 1;
    out->cancelled = pb_find_integer(message, 4) == 1;
    while (!rc && pb_next(&c, &f))
        if (pb_is_bytes(&f, 11) &&
            (!pb_is_message(f.bytes) || !pb_is_message(pb_find(f.bytes, 2))))
            rc = bad_answer("an event", err);
    return rc;
}

bool etcd_next_event(struct etcd_notice *n, struct etcd_event *out)
{
    struct cursor c = cursor_make(n->events);
    struct pb_field f;

    while (pb_next(&c, &f)) {
        struct slice kv;
        if (!pb_is_bytes(&f, 11))
            continue;
        kv = pb_find(f.bytes, 2);
        out->removed = pb_find_integer(f.bytes, 1) == 1;
        out->revision = pb_find_integer(kv, 3);
        out->made = !out->removed && pb_find_integer(kv, 2) == out->revision;
        n->events = slice_make(c.p, (size_t)(c.end - c.p));
        return true;
    }
    n->events = SLICE_EMPTY;
    return false;
}
