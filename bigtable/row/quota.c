/* Quotas as text. A table of the kinds says of each its name, and whether it is
 * of bytes and a rate; parsing and printing follow from it.
 */
#include "bigtable/row/quota.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"

static const struct {
    const char *name;
    bool is_bytes;
    bool is_rate;
} kinds[QUOTA_COUNT] = {
    {"stored", true, false}, {"memory", true, false}, {"reads", false, true},
    {"writes", false, true}, {"bytes", true, true},
};

const char *quota_name(size_t i)
{
    PRE(i < QUOTA_COUNT);
    return kinds[i].name;
}

bool quota_is_bytes(size_t i)
{
    PRE(i < QUOTA_COUNT);
    return kinds[i].is_bytes;
}

uint64_t *quota_field(struct quarry_quota *q, size_t i)
{
    uint64_t *const fields[QUOTA_COUNT] = {&q->stored_bytes, &q->memory_bytes,
                                           &q->reads_per_s, &q->writes_per_s,
                                           &q->bytes_per_s};
    PRE(i < QUOTA_COUNT);
    return fields[i];
}

bool quota_has_rate(const struct quarry_quota *q)
{
    return q->reads_per_s || q->writes_per_s || q->bytes_per_s;
}

bool quota_is_none(const struct quarry_quota *q)
{
    return !q->stored_bytes && !q->memory_bytes && !quota_has_rate(q);
}

static int
parse_value(size_t i, struct slice text, uint64_t *out, struct err *err)
{
    if (slice_eq_str(text, "none")) {
        *out = 0;
        return 0;
    }
    if (kinds[i].is_rate && text.len > 2 &&
        slice_eq_str(slice_sub(text, text.len - 2, text.len), "/s"))
        text = slice_sub(text, 0, text.len - 2);
    return kinds[i].is_bytes ? text_parse_bytes(text, out, err)
                             : text_parse_u64(text, out, err);
}

int quota_parse(struct slice word, struct quarry_quota *q, struct err *err)
{
    size_t equals = slice_find_byte(word, '=');
    struct slice name = slice_sub(word, 0, equals);
    uint64_t value = 0;
    int rc;
    for (size_t i = 0; i < QUOTA_COUNT && equals < word.len; i++) {
        if (!slice_eq_str(name, kinds[i].name))
            continue;
        rc = parse_value(i, slice_sub(word, equals + 1, word.len), &value, err);
        if (rc)
            err_wrap(err, "quota %s", kinds[i].name);
        else
            *quota_field(q, i) = value;
        return rc;
    }
    return err_set(err, ERR_INVALID,
                   "%.*s: a quota is stored=SIZE, memory=SIZE, reads=N, "
                   "writes=N or bytes=SIZE (the last three a second)",
                   SLICE_ARG(word));
}

void quota_put_value(size_t i, uint64_t value, struct buf *out)
{
    PRE(i < QUOTA_COUNT);
    if (value == 0) {
        buf_append_str(out, "none");
        return;
    }
    if (kinds[i].is_bytes)
        text_put_bytes(out, value);
    else
        buf_printf(out, "%llu", (unsigned long long)value);
    if (kinds[i].is_rate)
        buf_append_str(out, "/s");
}
