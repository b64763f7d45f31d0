/* Counts by slots of time. A slot has its count and the number of the period it
 * is of in one atomic word, so that one exchange takes the slot over from a
 * period that is a minute old, and a count is one addition without a lock.
 */
#include "bigtable/tablet/load_meter.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

#define LOAD_SLOT_MAX (UINT64_MAX >> LOAD_COUNT_BITS)

#define NS_PER_S 1e9

/* Rates of less time than this would be wild. */
#define SPAN_NS_MIN UINT64_C(1000000000)

static uint64_t slot_at(uint64_t now_ns)
{
    return now_ns / LOAD_SLOT_NS & LOAD_SLOT_MAX;
}

void load_meter_init(struct load_meter *m, uint64_t now_ns)
{
    m->begun_ns = now_ns;
    for (size_t k = 0; k < LOAD_KIND_COUNT; k++)
        for (size_t i = 0; i < LOAD_SLOT_COUNT; i++)
            atomic_init(&m->slots[k][i], slot_at(now_ns) << LOAD_COUNT_BITS);
}

static uint64_t load_meter_count(struct load_meter *m,
                                 enum load_kind kind,
                                 uint64_t slot,
                                 uint64_t n)
{
    atomic_ullong *at = &m->slots[kind][slot % LOAD_SLOT_COUNT];
    unsigned long long held = atomic_load_explicit(at, memory_order_relaxed);
    PRE(slot <= LOAD_SLOT_MAX);
    while (held >> LOAD_COUNT_BITS != slot)
        if (atomic_compare_exchange_weak(at, &held, slot << LOAD_COUNT_BITS))
            break;
    return atomic_fetch_add_explicit(at, MIN_OF(n, LOAD_COUNT_MAX >> 8),
                                     memory_order_relaxed);
}

uint64_t load_meter_add(struct load_meter *m,
                        enum load_kind kind,
                        uint64_t rows,
                        uint64_t bytes,
                        uint64_t now_ns)
{
    uint64_t slot = slot_at(now_ns);
    PRE(kind != LOAD_BYTES);
    (void)load_meter_count(m, LOAD_BYTES, slot, bytes);
    return load_meter_count(m, kind, slot, rows);
}

/* The sum of the slots that are not too old. */
static uint64_t
load_meter_sum(const struct load_meter *m, enum load_kind kind, uint64_t slot)
{
    uint64_t total = 0;
    PRE(slot <= LOAD_SLOT_MAX);
    for (size_t i = 0; i < LOAD_SLOT_COUNT; i++) {
        uint64_t held =
            atomic_load_explicit(&m->slots[kind][i], memory_order_relaxed);
        uint64_t age = (slot - (held >> LOAD_COUNT_BITS)) & LOAD_SLOT_MAX;
        if (age < LOAD_SLOT_COUNT)
            total += held & LOAD_COUNT_MAX;
    }
    return total;
}

struct load_rates load_meter_rates(const struct load_meter *m, uint64_t now_ns)
{
    uint64_t slot = slot_at(now_ns);
    uint64_t window_ns =
        (LOAD_SLOT_COUNT - 1) * LOAD_SLOT_NS + now_ns % LOAD_SLOT_NS;
    uint64_t life_ns = now_ns > m->begun_ns ? now_ns - m->begun_ns : 0;
    uint64_t span_ns = MAX_OF(MIN_OF(window_ns, life_ns), SPAN_NS_MIN);
    double seconds = (double)span_ns / NS_PER_S;
    INVARIANT(seconds > 0);
    return (struct load_rates){
        .reads = (double)load_meter_sum(m, LOAD_READS, slot) / seconds,
        .writes = (double)load_meter_sum(m, LOAD_WRITES, slot) / seconds,
        .bytes = (double)load_meter_sum(m, LOAD_BYTES, slot) / seconds,
    };
}
