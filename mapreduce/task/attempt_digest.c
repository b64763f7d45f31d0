/* Stragglers and partitions of a job's attempts: what a person wants to know
 * of thousands of attempts, in a few lines. */
#include "mapreduce/task/attempt_digest.h"

#include <stdlib.h>

#include "base/core/panic.h"

const char straggler_rule[] =
    "an attempt that takes more than 2 times the median of its phase's "
    "attempts that succeeded (at least 3), and 1 s more than it";

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The middle of @n numbers, which are sorted; 0: there are none. */
static uint64_t median_of(uint64_t *numbers, size_t n)
{
    if (n == 0)
        return 0;
    qsort(numbers, n, sizeof(*numbers), by_number);
    return numbers[n / 2];
}

/* --- stragglers ---------------------------------------------------------- */

static bool
is_of_phase(const struct attempt_record *a, uint32_t part, enum task_kind kind)
{
    return a->part == part && a->kind == kind;
}

/* The median of those that succeeded; 0: of too few. */
static uint64_t phase_median_us(const struct attempt_list *l,
                                uint32_t part,
                                enum task_kind kind,
                                uint64_t *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        if (is_of_phase(&l->at[i], part, kind) &&
            l->at[i].state == ATTEMPT_END_SUCCEEDED)
            scratch[n++] = l->at[i].took_us;
    return n < STRAGGLER_SAMPLES_MIN ? 0 : median_of(scratch, n);
}

/* Keep @s among the slowest. */
static size_t
keep_slowest(struct straggler *out, size_t count, const struct straggler *s)
{
    size_t at = count;
    while (at > 0 && out[at - 1].took_us < s->took_us)
        at--;
    if (at == STRAGGLERS_MAX)
        return count;
    if (count == STRAGGLERS_MAX)
        count--;
    for (size_t i = count; i > at; i--)
        out[i] = out[i - 1];
    out[at] = *s;
    return count + 1;
}

static size_t phase_stragglers(const struct attempt_list *l,
                               uint32_t part,
                               enum task_kind kind,
                               uint64_t now_us,
                               uint64_t *scratch,
                               struct straggler *out,
                               size_t count)
{
    uint64_t median = phase_median_us(l, part, kind, scratch);
    for (size_t i = 0; median > 0 && i < l->count; i++) {
        struct straggler s = {.index = i, .median_us = median};
        s.took_us = attempt_record_took_us(&l->at[i], now_us);
        if (is_of_phase(&l->at[i], part, kind) &&
            s.took_us > STRAGGLER_TIMES * median &&
            s.took_us > median + STRAGGLER_EXCESS_US)
            count = keep_slowest(out, count, &s);
    }
    return count;
}

size_t attempt_stragglers(const struct attempt_list *l,
                          uint64_t now_us,
                          struct straggler out[STRAGGLERS_MAX])
{
    static const enum task_kind kinds[] = {TASK_MAP, TASK_REDUCE};

    uint64_t *scratch = mem_alloc((l->count + 1) * sizeof(*scratch));
    size_t count = 0;
    uint32_t last = 0;
    /* Parts begin one after the other: a new one is seen once. */
    for (size_t i = 0; i < l->count; i++) {
        if (l->at[i].part <= last)
            continue;
        last = l->at[i].part;
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
            count = phase_stragglers(l, last, kinds[k], now_us, scratch, out,
                                     count);
    }
    mem_free(scratch);
    POST(count <= STRAGGLERS_MAX);
    return count;
}

/* --- partitions ---------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct partition_figures *x = a;
    const struct partition_figures *y = b;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_size(const void *a, const void *b)
{
    const struct partition_figures *x = a;
    const struct partition_figures *y = b;
    if (x->records != y->records)
        return x->records > y->records ? -1 : 1;
    return by_place(a, b);
}

/* The figures of its partition that @a knows. */
static struct partition_figures figures_of(const struct attempt_record *a)
{
    struct partition_figures f = {.part = a->part, .index = a->task};
    f.records = a->records > a->total ? a->records : a->total;
    if (a->state == ATTEMPT_END_SUCCEEDED) {
        f.records = a->records;
        f.bytes = a->bytes;
    }
    return f;
}

/* Several attempts at a partition become one line. Returns how many lines. */
static size_t merge_attempts(struct partition_figures *f, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct partition_figures *last = &f[kept - (kept > 0)];
        if (kept == 0 || by_place(last, &f[i]) != 0) {
            f[kept++] = f[i];
            continue;
        }
        if (f[i].records > last->records)
            last->records = f[i].records;
        if (f[i].bytes > 0)
            last->bytes = f[i].bytes;
    }
    return kept;
}

static uint64_t median_records(const struct partition_figures *f, size_t n)
{
    uint64_t *numbers = mem_alloc((n + 1) * sizeof(*numbers));
    uint64_t median;
    for (size_t i = 0; i < n; i++)
        numbers[i] = f[i].records;
    median = median_of(numbers, n);
    mem_free(numbers);
    return median;
}

void attempt_partitions(const struct attempt_list *l,
                        size_t max,
                        struct partition_digest *out)
{
    struct partition_figures *f = mem_alloc((l->count + 1) * sizeof(*f));
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].kind == TASK_REDUCE)
            f[n++] = figures_of(&l->at[i]);
    if (n > 1)
        qsort(f, n, sizeof(*f), by_place);
    n = merge_attempts(f, n);
    *out = (struct partition_digest){.at = f,
                                     .count = n,
                                     .total = n,
                                     .median_records = median_records(f, n)};
    for (size_t i = 0; i < n; i++)
        if (f[i].records > out->max_records)
            out->max_records = f[i].records;
    if (n > max) {
        qsort(f, n, sizeof(*f), by_size);
        out->count = max;
        qsort(f, max, sizeof(*f), by_place);
    }
}
