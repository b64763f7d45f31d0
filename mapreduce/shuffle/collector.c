/* Pairs in memory, sorted runs on the disk: the map side of the shuffle
 * (MapReduce, OSDI 2004, sections 3.1 and 4.3). When the store is full, its
 * pairs are sorted by partition and key and become a run of the spill. */
#include "mapreduce/shuffle/collector.h"

#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/panic.h"

static void
fold_pair(void *ctx, struct slice key, struct buf *acc, struct slice value)
{
    const struct collector *c = ctx;
    c->opts.job->combine(c->opts.task, key, acc, value);
}

static enum collector_kind kind_of(const struct mr_job *job)
{
    if (!job->combine)
        return COLLECT_PLAIN;
    return job->combine == mr_combine_sum ? COLLECT_COUNTS : COLLECT_FOLDED;
}

void collector_init(struct collector *c, const struct collector_options *opts)
{
    size_t bytes = MIN_OF(opts->memory_bytes, (size_t)UINT32_MAX);
    PRE(opts->memory_bytes >= COLLECTOR_BYTES_MIN);
    *c = (struct collector){.opts = *opts, .kind = kind_of(opts->job)};
    block_codec_init(&c->codec, opts->level);
    if (opts->keyring)
        c->code = block_codec_encrypt(&c->codec, opts->keyring, &c->err);
    if (c->kind == COLLECT_COUNTS)
        count_table_init(&c->counts, opts->memory, opts->memory_bytes);
    else
        pair_store_init(&c->pairs, opts->memory, bytes,
                        c->kind == COLLECT_FOLDED ? fold_pair : NULL, c);
}

void collector_close(struct collector *c)
{
    spill_writer_close(&c->spill);
    pair_store_close(&c->pairs);
    block_codec_close(&c->codec);
}

static unsigned cut_partition(const struct collector *c, struct slice key)
{
    unsigned low = 0;
    unsigned high = c->opts.partition_count - 1;
    int sign = c->opts.job->sort == MR_SORT_DESCENDING ? -1 : 1;
    while (low < high) {
        unsigned mid = (low + high) / 2;
        if (slice_cmp(key, c->opts.cuts[mid]) * sign < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

unsigned collector_partition(const struct collector *c, struct slice key)
{
    const struct mr_job *job = c->opts.job;
    unsigned n = c->opts.partition_count;
    if (n <= 1)
        return 0;
    if (job->group)
        key = slice_sub(key, 0, job->group(c->opts.task, key));
    if (c->opts.cuts)
        return cut_partition(c, key);
    if (job->partition)
        return job->partition(c->opts.task, key, n) % n;
    return (unsigned)(((hash64_slice(key) >> 32) * n) >> 32);
}

/* --- sorting what is in memory ------------------------------------------- */

static struct slice counts_key(const void *ctx, uint32_t at)
{
    const struct collector *c = ctx;
    return count_slot_key(&c->counts.slots[at]);
}

static struct slice pairs_key(const void *ctx, uint32_t at)
{
    const struct collector *c = ctx;
    return pair_store_key(&c->pairs, at);
}

static void ref_add(struct collector *c, struct slice key, uint32_t at)
{
    c->refs[c->ref_count++] =
        (struct sort_ref){sort_prefix(key, 0), at, collector_partition(c, key)};
}

static void refs_of_counts(struct collector *c)
{
    struct count_table *t = &c->counts;
    uint32_t count = count_table_pack(t);
    c->refs = count_table_sort_room(t, sizeof(*c->refs));
    for (uint32_t i = 0; i < count; i++)
        ref_add(c, count_slot_key(&t->slots[i]), i);
}

static void refs_of_pairs(struct collector *c)
{
    uint32_t at = 0;
    uint32_t pair;
    c->refs = pair_store_sort_room(&c->pairs, sizeof(*c->refs));
    while (pair_store_next(&c->pairs, &at, &pair))
        ref_add(c, pair_store_key(&c->pairs, pair), pair);
}

static void sort_memory(struct collector *c)
{
    bool counts = c->kind == COLLECT_COUNTS;
    struct sort_keys keys = {counts ? counts_key : pairs_key, c};
    c->ref_count = 0;
    if (counts)
        refs_of_counts(c);
    else
        refs_of_pairs(c);
    sort_refs(c->refs, c->refs + c->ref_count, c->ref_count,
              c->opts.partition_count, &keys);
    if (c->opts.job->sort == MR_SORT_DESCENDING)
        sort_reverse(c->refs, c->ref_count, &keys);
    c->pairs_out += c->ref_count;
    INVARIANT(c->pairs_out <= c->pairs_in); /* INV-1 */
}

/* --- spilling ------------------------------------------------------------ */

/* The pair of a reference; the value of a count is encoded into @number. */
static void ref_pair(const struct collector *c,
                     const struct sort_ref *ref,
                     char *number,
                     struct slice *key,
                     struct slice *value)
{
    if (c->kind == COLLECT_COUNTS) {
        const struct count_slot *s = &c->counts.slots[ref->at];
        char *end = put_varint(number, zigzag_encode(s->sum));
        *key = count_slot_key(s);
        *value = slice_make(number, (size_t)(end - number));
    } else {
        *key = pair_store_key(&c->pairs, ref->at);
        *value = pair_store_value(&c->pairs, ref->at);
    }
}

static const void *ref_memory(const struct collector *c, uint32_t at)
{
    if (c->kind == COLLECT_COUNTS)
        return &c->counts.slots[at];
    return c->pairs.memory + (size_t)at * 8;
}

static void write_run(struct collector *c)
{
    char number[VARINT64_BYTES_MAX];

    enum {
        AHEAD = 12
    };

    spill_writer_start_run(&c->spill);
    for (size_t i = 0; i < c->ref_count; i++) {
        struct slice key;
        struct slice value;
        if (i + AHEAD < c->ref_count)
            __builtin_prefetch(ref_memory(c, c->refs[i + AHEAD].at));
        ref_pair(c, &c->refs[i], number, &key, &value);
        INVARIANT(i == 0 ||
                  c->refs[i].partition >= c->refs[i - 1].partition); /* INV-3 */
        spill_writer_add(&c->spill, c->refs[i].partition, key, value);
    }
    c->spill_count++;
}

static void collector_fail(struct collector *c, int code)
{
    if (c->code == 0 && code != 0)
        c->code = code;
}

/* Write the pairs in memory as a run, and clear the memory. */
static void spill_memory(struct collector *c)
{
    if (c->code == 0 && !c->opts.spill_path)
        collector_fail(c, err_set(&c->err, ERR_TOOBIG,
                                  "emitted more than %zu bytes of pairs",
                                  c->opts.memory_bytes));
    if (c->code == 0 && !c->spilled) {
        collector_fail(c, spill_writer_open(&c->spill, c->opts.world,
                                            c->opts.spill_path, &c->codec,
                                            &c->err));
        c->spilled = c->code == 0;
    }
    if (c->code == 0) {
        sort_memory(c);
        write_run(c);
        c->ref_count = 0;
    } else if (c->kind == COLLECT_COUNTS) {
        count_table_settle(&c->counts);
    }
    if (c->kind == COLLECT_COUNTS)
        count_table_clear(&c->counts);
    else
        pair_store_clear(&c->pairs);
}

static bool
check_sizes(struct collector *c, struct slice key, struct slice value)
{
    if (UNLIKELY(key.len > MR_KEY_BYTES_MAX))
        collector_fail(c,
                       err_set(&c->err, ERR_TOOBIG,
                               "emitted a key of %zu bytes: the limit is %zu",
                               key.len, MR_KEY_BYTES_MAX));
    else if (UNLIKELY(value.len > BLOCK_VALUE_BYTES_MAX))
        collector_fail(
            c, err_set(&c->err, ERR_TOOBIG,
                       "emitted a value of %zu bytes for key \"%.*s\": the "
                       "limit is %zu",
                       value.len, (int)MIN_OF(key.len, (size_t)80), key.data,
                       BLOCK_VALUE_BYTES_MAX));
    return c->code == 0;
}

static void add_pair(struct collector *c, struct slice key, struct slice value)
{
    if (LIKELY(pair_store_add(&c->pairs, key, value)))
        return;
    spill_memory(c);
    if (c->code || pair_store_add(&c->pairs, key, value))
        return;
    collector_fail(
        c, err_set(&c->err, ERR_TOOBIG,
                   "emitted a value of %zu bytes for key \"%.*s\": the task "
                   "has %zu bytes for pairs",
                   value.len, (int)MIN_OF(key.len, (size_t)80), key.data,
                   c->opts.memory_bytes));
    err_hint(&c->err, "give the job more memory");
}

void collector_add_count(struct collector *c, struct slice key, int64_t by)
{
    char number[VARINT64_BYTES_MAX];
    char *end;
    if (UNLIKELY(c->kind != COLLECT_COUNTS)) {
        end = put_varint(number, zigzag_encode(by));
        collector_add(c, key, slice_make(number, (size_t)(end - number)));
        return;
    }
    c->pairs_in++;
    if (UNLIKELY(!check_sizes(c, key, SLICE_EMPTY)))
        return;
    count_table_add(&c->counts, key, by);
    if (UNLIKELY(c->counts.full))
        spill_memory(c);
}

void collector_add(struct collector *c, struct slice key, struct slice value)
{
    if (c->kind == COLLECT_COUNTS) {
        collector_add_count(c, key, mr_value_count(value));
        return;
    }
    c->pairs_in++;
    if (LIKELY(check_sizes(c, key, value)))
        add_pair(c, key, value);
}

int collector_finish(struct collector *c, bool to_file, struct err *err)
{
    if (c->code == 0 && to_file) {
        spill_memory(c);
        c->ref_count = 0;
    } else if (c->code == 0) {
        sort_memory(c);
    }
    if (c->spilled && c->code == 0) {
        collector_fail(c, spill_writer_finish(&c->spill, &c->err));
        c->spill_bytes = c->spill.out.written;
    }
    return c->code ? err_copy(err, &c->err) : 0;
}

/* --- the last run, read -------------------------------------------------- */

struct memory_source {
    struct merge_source base;
    struct collector *collector;
    size_t next;
    size_t end;
    char number[VARINT64_BYTES_MAX];
};

static int memory_next(struct merge_source *base, bool *more, struct err *err)
{
    struct memory_source *s = (struct memory_source *)base;
    (void)err;
    *more = s->next < s->end;
    if (*more)
        ref_pair(s->collector, &s->collector->refs[s->next++], s->number,
                 &base->key, &base->value);
    return 0;
}

static void memory_close(struct merge_source *base)
{
    mem_free(base);
}

struct merge_source *collector_source(struct collector *c, unsigned partition)
{
    PRE(partition < MAX_OF(c->opts.partition_count, 1u));
    struct memory_source *s = mem_zalloc(1, sizeof(*s));
    size_t i = 0;
    s->base = (struct merge_source){.next = memory_next, .close = memory_close};
    s->collector = c;
    while (i < c->ref_count && c->refs[i].partition < partition)
        i++;
    s->next = i;
    while (i < c->ref_count && c->refs[i].partition == partition)
        i++;
    s->end = i;
    return &s->base;
}
