/* How much a tablet is read and written: rates over the last minute.
 *
 * Time is cut into slots of LOAD_SLOT_NS, and each slot counts what was done in
 * it. There are as many slots as make up the minute and the slot under way, so
 * what is older is overwritten or ignored. Counting is one atomic addition; no
 * timer and no thread keeps the rates up to date.
 *
 * Of counts that several threads add at the very moment a slot is taken over,
 * none is lost.
 *
 * Pure: the time is the caller's, from any monotonic clock.
 *
 * Threads: any, without waiting.
 */
#ifndef BIGTABLE_TABLET_LOAD_METER_H
#define BIGTABLE_TABLET_LOAD_METER_H

#include <stdatomic.h>
#include <stdint.h>

#define LOAD_SLOT_NS    (UINT64_C(4) * 1000000000)
#define LOAD_SLOT_COUNT 16

/* A slot holds at most a terabyte: 256 GB/s. */
#define LOAD_COUNT_BITS 40
#define LOAD_COUNT_MAX  ((UINT64_C(1) << LOAD_COUNT_BITS) - 1)

enum load_kind {
    LOAD_READS,  /* Rows. */
    LOAD_WRITES, /* Rows. */
    LOAD_BYTES,  /* Of both. */
};

#define LOAD_KIND_COUNT 3

struct load_meter {
    uint64_t begun_ns;
    /* Above LOAD_COUNT_BITS which slot it is, since the clock's beginning;
     * below, what was done in it. */
    atomic_ullong slots[LOAD_KIND_COUNT][LOAD_SLOT_COUNT];
};

/* A second, over the last minute, or since the meter began if that is less. */
struct load_rates {
    double reads;
    double writes;
    double bytes;
};

void load_meter_init(struct load_meter *m, uint64_t now_ns);
/* @rows were read or written, of @bytes together. Returns what the slot held
 * before: its number, and how many rows of @kind. */
uint64_t load_meter_add(struct load_meter *m,
                        enum load_kind kind,
                        uint64_t rows,
                        uint64_t bytes,
                        uint64_t now_ns);
struct load_rates load_meter_rates(const struct load_meter *m, uint64_t now_ns);

#endif /* BIGTABLE_TABLET_LOAD_METER_H */
