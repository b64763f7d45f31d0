/* Task specs and reports as bytes, closed by a CRC32C: a report is read from a
 * file that a dying process may have cut. Lists are counted before memory is
 * taken for them, and indexes are checked against the lists they point into. */
#include "mapreduce/task/task_spec.h"

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"

void task_spec_init(struct task_spec *s)
{
    *s = (struct task_spec){.kind = TASK_MAP};
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(texts[i]);
    mem_free(texts);
}

void task_spec_close(struct task_spec *s)
{
    input_splits_close(&s->splits);
    mem_free(s->cuts);
    buf_close(&s->cut_bytes);
    mem_free(s->spills);
    free_texts(s->places, s->place_count);
    mem_free(s->segments);
    free_texts(s->files, s->file_count);
    mem_free(s->skips);
    mem_free(s->group_skips);
    for (size_t i = 0; i < s->loan_count; i++)
        key_loan_close(&s->loans[i]);
    mem_free(s->loans);
    task_spec_init(s);
}

#define LOAN_BYTES (8 + KEYRING_SALT_BYTES + AEAD_KEY_BYTES)

static void task_spec_seal(struct buf *out, size_t from)
{
    buf_put_le32(out, crc32c(out->data + from, out->len - from));
}

/* The bytes before the checksum, which must be right. */
static int
task_spec_unseal(struct slice bytes, struct cursor *in, struct err *err)
{
    if (bytes.len < 4 || crc32c(bytes.data, bytes.len - 4) !=
                             get_le32(bytes.data + bytes.len - 4))
        return err_set(err, ERR_CORRUPT, "message with a wrong checksum");
    bytes.len -= 4;
    *in = cursor_make(bytes);
    return 0;
}

static void put_numbers(struct buf *out, const uint64_t *v, size_t count)
{
    buf_put_varint(out, count);
    for (size_t i = 0; i < count; i++)
        buf_put_varint(out, v[i]);
}

static uint64_t *get_numbers(struct cursor *in, size_t *count)
{
    uint64_t *v;
    *count = cursor_count(in, 1);
    v = mem_zalloc(*count + 1, sizeof(*v));
    for (size_t i = 0; i < *count; i++)
        v[i] = cursor_varint(in);
    return v;
}

static void put_texts(struct buf *out, char *const *texts, size_t count)
{
    buf_put_varint(out, count);
    for (size_t i = 0; i < count; i++)
        buf_put_lslice(out, slice_str(texts[i]));
}

static char **get_texts(struct cursor *in, size_t *count)
{
    size_t n = cursor_count(in, 1);
    char **texts = mem_zalloc(n + 1, sizeof(char *));
    for (*count = 0; *count < n; ++*count) {
        struct slice text = cursor_lslice(in);
        texts[*count] = mem_strndup(text.data, text.len);
    }
    return texts;
}

static void
put_spills(struct buf *out, const struct task_spill *spills, size_t count)
{
    buf_put_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        buf_put_varint(out, spills[i].task);
        buf_put_varint(out, spills[i].attempt);
        buf_put_varint(out, spills[i].place);
    }
}

static struct task_spill *get_spills(struct cursor *in, size_t *count)
{
    struct task_spill *spills;
    *count = cursor_count(in, 3);
    spills = mem_zalloc(*count + 1, sizeof(*spills));
    for (size_t i = 0; i < *count; i++) {
        spills[i].task = (uint32_t)cursor_varint(in);
        spills[i].attempt = (uint32_t)cursor_varint(in);
        spills[i].place = (uint32_t)cursor_varint(in);
    }
    return spills;
}

static void put_segments(struct buf *out, const struct task_spec *s)
{
    buf_put_u8(out, s->resolved);
    buf_put_varint(out, s->segment_count);
    for (size_t i = 0; i < s->segment_count; i++) {
        buf_put_varint(out, s->segments[i].file);
        buf_put_varint(out, s->segments[i].offset);
        buf_put_varint(out, s->segments[i].bytes);
        buf_put_varint(out, s->segments[i].pairs);
    }
}

static void put_loans(struct buf *out, const struct task_spec *s)
{
    buf_put_varint(out, s->loan_count);
    for (size_t i = 0; i < s->loan_count; i++) {
        const struct key_loan *l = &s->loans[i];
        buf_put_le64(out, l->key_id);
        buf_append(out, l->lent, sizeof(l->lent));
        buf_append(out, l->key.bytes, sizeof(l->key.bytes));
    }
}

static void get_key_bytes(unsigned char *to, size_t bytes, struct cursor *in)
{
    struct slice s = cursor_bytes(in, bytes);
    if (!in->bad)
        memcpy(to, s.data, bytes);
}

static void decode_loans(struct task_spec *s, struct cursor *in)
{
    size_t count = cursor_count(in, LOAN_BYTES);
    s->loans = mem_zalloc(count + 1, sizeof(*s->loans));
    for (s->loan_count = 0; s->loan_count < count; s->loan_count++) {
        struct key_loan *l = &s->loans[s->loan_count];
        l->key_id = cursor_le64(in);
        get_key_bytes(l->lent, sizeof(l->lent), in);
        get_key_bytes(l->key.bytes, sizeof(l->key.bytes), in);
    }
}

void task_spec_encode(const struct task_spec *s, struct buf *out)
{
    size_t from = out->len;
    buf_put_varint(out, (uint64_t)s->kind);
    buf_put_varint(out, s->index);
    buf_put_varint(out, s->attempt);
    buf_put_varint(out, s->partition_count);
    buf_put_varint(out, s->splits.count);
    for (size_t i = 0; i < s->splits.count; i++)
        input_split_encode(&s->splits.at[i], out);
    buf_put_varint(out, s->cut_count);
    for (size_t i = 0; i < s->cut_count; i++)
        buf_put_lslice(out, s->cuts[i]);
    put_spills(out, s->spills, s->spill_count);
    put_texts(out, s->places, s->place_count);
    put_segments(out, s);
    put_texts(out, s->files, s->file_count);
    put_numbers(out, s->skips, s->skip_count);
    put_numbers(out, s->group_skips, s->group_skip_count);
    put_loans(out, s);
    task_spec_seal(out, from);
}

static void decode_splits(struct task_spec *s, struct cursor *in)
{
    size_t count = cursor_count(in, 8);
    for (size_t i = 0; i < count && !in->bad; i++) {
        struct input_split *split = input_splits_add(&s->splits, 0, "");
        mem_free(split->path);
        input_split_decode(split, in);
    }
}

/* All cuts are copied into one buffer, whose address is known only at the end.
 */
static void decode_cuts(struct task_spec *s, struct cursor *in)
{
    size_t at = 0;
    s->cut_count = cursor_count(in, 1);
    s->cuts = mem_zalloc(s->cut_count + 1, sizeof(*s->cuts));
    for (size_t i = 0; i < s->cut_count; i++) {
        struct slice key = cursor_lslice(in);
        s->cuts[i].len = key.len;
        buf_append_slice(&s->cut_bytes, key);
    }
    for (size_t i = 0; i < s->cut_count; i++) {
        s->cuts[i].data = buf_cstr(&s->cut_bytes) + at;
        at += s->cuts[i].len;
    }
}

static void decode_segments(struct task_spec *s, struct cursor *in)
{
    s->resolved = cursor_u8(in) != 0;
    s->segment_count = cursor_count(in, 4);
    s->segments = mem_zalloc(s->segment_count + 1, sizeof(*s->segments));
    for (size_t i = 0; i < s->segment_count; i++) {
        s->segments[i].file = (uint32_t)cursor_varint(in);
        s->segments[i].offset = cursor_varint(in);
        s->segments[i].bytes = cursor_varint(in);
        s->segments[i].pairs = cursor_varint(in);
    }
}

/* Indexes must be inside the lists they point into. */
static void check_indexes(const struct task_spec *s, struct cursor *in)
{
    for (size_t i = 0; i < s->segment_count; i++)
        in->bad |= s->segments[i].file >= s->file_count ||
                   s->segments[i].bytes > UINT64_MAX - s->segments[i].offset;
    for (size_t i = 0; i < s->spill_count && s->place_count > 0; i++)
        in->bad |= s->spills[i].place >= s->place_count;
}

int task_spec_decode(struct task_spec *s, struct slice bytes, struct err *err)
{
    struct cursor in;
    uint64_t kind;
    int rc = task_spec_unseal(bytes, &in, err);
    task_spec_init(s);
    if (rc)
        return rc;
    kind = cursor_varint(&in);
    s->kind = kind <= TASK_WHOLE ? (enum task_kind)kind : TASK_MAP;
    s->index = (uint32_t)cursor_varint(&in);
    s->attempt = (uint32_t)cursor_varint(&in);
    s->partition_count = (uint32_t)cursor_varint(&in);
    decode_splits(s, &in);
    decode_cuts(s, &in);
    s->spills = get_spills(&in, &s->spill_count);
    s->places = get_texts(&in, &s->place_count);
    decode_segments(s, &in);
    s->files = get_texts(&in, &s->file_count);
    check_indexes(s, &in);
    s->skips = get_numbers(&in, &s->skip_count);
    s->group_skips = get_numbers(&in, &s->group_skip_count);
    decode_loans(s, &in);
    if (in.bad || cursor_left(&in) > 0 || kind > TASK_WHOLE)
        return err_set(err, ERR_CORRUPT, "malformed task");
    return 0;
}

void task_pull_close(struct task_pull *p)
{
    mem_free(p->partitions);
    mem_free(p->spills);
    free_texts(p->places, p->place_count);
    *p = (struct task_pull){.over = false};
}

void task_pull_encode(const struct task_pull *p, struct buf *out)
{
    size_t from = out->len;
    buf_put_u8(out, p->over);
    buf_put_varint(out, p->partition_count);
    for (size_t i = 0; i < p->partition_count; i++)
        buf_put_varint(out, p->partitions[i]);
    put_spills(out, p->spills, p->spill_count);
    put_texts(out, p->places, p->place_count);
    task_spec_seal(out, from);
}

int task_pull_decode(struct task_pull *p, struct slice bytes, struct err *err)
{
    struct cursor in;
    int rc = task_spec_unseal(bytes, &in, err);
    *p = (struct task_pull){.over = false};
    if (rc)
        return rc;
    p->over = cursor_u8(&in) != 0;
    p->partition_count = cursor_count(&in, 1);
    p->partitions = mem_zalloc(p->partition_count + 1, sizeof(uint32_t));
    for (size_t i = 0; i < p->partition_count; i++)
        p->partitions[i] = (uint32_t)cursor_varint(&in);
    p->spills = get_spills(&in, &p->spill_count);
    p->places = get_texts(&in, &p->place_count);
    for (size_t i = 0; i < p->spill_count; i++)
        in.bad |= p->spills[i].place >= p->place_count;
    if (in.bad || cursor_left(&in) > 0)
        return err_set(err, ERR_CORRUPT, "malformed list of spills to pull");
    return 0;
}

static char kind_letter(enum task_kind kind)
{
    switch (kind) {
    case TASK_SAMPLE: return 's';
    case TASK_MAP: return 'm';
    case TASK_REDUCE: return 'r';
    case TASK_WHOLE: return 'w';
    }
    PANIC("task of kind %d", (int)kind);
}

void task_spec_prefix(const struct task_spec *s, struct buf *out)
{
    buf_printf(out, "%c%05u.%u", kind_letter(s->kind), s->index, s->attempt);
}

void task_kind_describe(enum task_kind kind, uint32_t index, struct buf *out)
{
    switch (kind) {
    case TASK_SAMPLE: buf_append_str(out, "sampling task"); break;
    case TASK_MAP: buf_printf(out, "map task %u", index); break;
    case TASK_REDUCE: buf_printf(out, "reduce task %u", index); break;
    case TASK_WHOLE: buf_append_str(out, "the only task"); break;
    }
}

void task_spill_path(struct buf *out,
                     const char *work_dir,
                     uint32_t task,
                     uint32_t attempt)
{
    buf_clear(out);
    buf_printf(out, "%s/m%05u.%u.spill", work_dir, task, attempt);
}

void task_report_init(struct task_report *r)
{
    *r = (struct task_report){.code = 0};
    counters_init(&r->counters);
}

void task_report_close(struct task_report *r)
{
    counters_close(&r->counters);
    mem_free(r->place);
    buf_close(&r->sides);
    buf_close(&r->sample);
    damage_close(&r->damage);
}

void task_report_encode(const struct task_report *r, struct buf *out)
{
    size_t from = out->len;
    buf_put_zigzag(out, r->code);
    buf_put_lslice(out, slice_str(r->code ? r->err.text : ""));
    buf_put_lslice(out, slice_str(r->code ? r->err.hint : ""));
    buf_put_varint(out, r->code ? r->err.detail : ERR_DETAIL_NONE);
    buf_put_u8(out, r->spilled);
    buf_put_lslice(out, slice_str(r->place ? r->place : ""));
    buf_put_varint(out, r->bad_source);
    counters_encode(&r->counters, out);
    buf_put_lslice(out, buf_slice(&r->sides));
    buf_put_lslice(out, buf_slice(&r->sample));
    buf_put_varint(out, r->damage.places);
    buf_put_varint(out, r->damage.records);
    buf_put_u8(out, r->damage.expected);
    buf_put_lslice(out, buf_slice(&r->damage.texts));
    task_spec_seal(out, from);
}

int task_report_decode(struct task_report *r,
                       struct slice bytes,
                       struct err *err)
{
    struct cursor in;
    struct slice text;
    struct slice hint;
    struct slice place;
    uint64_t detail;
    int rc = task_spec_unseal(bytes, &in, err);
    task_report_init(r);
    if (rc)
        return rc;
    r->code = (int)cursor_zigzag(&in);
    text = cursor_lslice(&in);
    hint = cursor_lslice(&in);
    detail = cursor_varint(&in);
    if (r->code) {
        err_set(&r->err, r->code, "%.*s", SLICE_ARG(text));
        if (hint.len > 0)
            err_hint(&r->err, "%.*s", SLICE_ARG(hint));
        if (detail < ERR_DETAIL_COUNT)
            err_set_detail(&r->err, (enum err_detail)detail, "");
    }
    r->spilled = cursor_u8(&in) != 0;
    place = cursor_lslice(&in);
    if (place.len > 0)
        r->place = mem_strndup(place.data, place.len);
    r->bad_source = (uint32_t)cursor_varint(&in);
    counters_decode(&r->counters, &in);
    buf_append_slice(&r->sides, cursor_lslice(&in));
    buf_append_slice(&r->sample, cursor_lslice(&in));
    r->damage.places = cursor_varint(&in);
    r->damage.records = cursor_varint(&in);
    r->damage.expected = cursor_u8(&in) != 0;
    buf_append_slice(&r->damage.texts, cursor_lslice(&in));
    if (in.bad || cursor_left(&in) > 0)
        return err_set(err, ERR_CORRUPT, "malformed report");
    return 0;
}
