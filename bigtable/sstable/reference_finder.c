/* Fingerprints are values of a gear hash (Xia et al., "Ddelta", 2014): a shift,
 * a table look-up and an addition a byte, whose upper bits depend on the last
 * 64 bytes. Where SAMPLE_BITS of these are zero, the value
 * is a fingerprint of the block. One table of fixed size maps fingerprints to
 * the newest block; a lost entry costs a missed likeness, never a wrong result,
 * because the bytes themselves are compared by the compressor.
 */
#include "bigtable/sstable/reference_finder.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

/* One position in 128 is sampled: 512 fingerprints of 64 KiB. */
#define SAMPLE_BITS 7
#define SAMPLE_MASK (((UINT64_C(1) << SAMPLE_BITS) - 1) << (64 - SAMPLE_BITS))
/* Slots of the table of fingerprints: those of 32 MiB have one each. */
#define SLOT_BITS  18
#define SLOT_COUNT ((size_t)1 << SLOT_BITS)
/* Blocks kept at the same time; a small one takes a place like a large one. */
#define KEPT_MAX ((size_t)1024)
/* A reference pays if one in this many fingerprints is found in it: a block
 * with less in common is better stored alone, so that others can refer to it.
 */
#define COMMON_PART 8

/* A place for a fingerprint. */
struct finder_slot {
    uint32_t tag;    /* Bits of the fingerprint that do not choose the slot. */
    uint32_t number; /* Of the block, from 1; 0: the slot is empty. */
};

struct kept_block {
    struct reference reference;
    char *bytes; /* Owned. */
};

struct reference_finder {
    uint64_t gear[256];
    struct finder_slot *slots;
    struct kept_block kept[KEPT_MAX]; /* Block n at n % KEPT_MAX. */
    uint32_t oldest;                  /* Number of the oldest kept block. */
    uint32_t next;                    /* Of the next one. */
    size_t kept_bytes;
    uint64_t *prints; /* Of the block last searched for; owned. */
    size_t print_count;
    size_t print_room;
    uint32_t votes[KEPT_MAX]; /* Fingerprints found in a block; all 0 between
                                 searches. */
};

static void finder_check(const struct reference_finder *f)
{
    INVARIANT(f->oldest <= f->next);
    INVARIANT(f->next - f->oldest <= KEPT_MAX);
    INVARIANT((f->oldest == f->next) == (f->kept_bytes == 0));
    INVARIANT(f->next - f->oldest <= 1 ||
              f->kept_bytes <= REFERENCE_KEPT_BYTES_MAX); /* INV-2 */
}

struct reference_finder *reference_finder_new(void)
{
    struct reference_finder *f = mem_zalloc(1, sizeof(*f));

    f->slots = mem_zalloc(SLOT_COUNT, sizeof(*f->slots));
    for (size_t i = 0; i < ARRAY_LEN(f->gear); i++) {
        unsigned char byte = (unsigned char)i;
        f->gear[i] = hash64(&byte, 1, 0);
    }
    f->oldest = 1;
    f->next = 1;
    return f;
}

static struct kept_block *kept_at(struct reference_finder *f, uint32_t number)
{
    PRE(number > 0);
    return &f->kept[number % KEPT_MAX];
}

static void forget_oldest(struct reference_finder *f)
{
    struct kept_block *k = kept_at(f, f->oldest);

    PRE(f->oldest < f->next);
    INVARIANT(f->kept_bytes >= k->reference.bytes.len);
    f->kept_bytes -= k->reference.bytes.len;
    mem_free(k->bytes);
    *k = (struct kept_block){0};
    f->oldest++;
}

void reference_finder_free(struct reference_finder *f)
{
    if (!f)
        return;
    while (f->oldest < f->next)
        forget_oldest(f);
    mem_free(f->prints);
    mem_free(f->slots);
    mem_free(f);
}

/* --- fingerprints -------------------------------------------------------- */

static void add_print(struct reference_finder *f, uint64_t print)
{
    if (f->print_count == f->print_room) {
        f->print_room = MAX_OF(f->print_room * 2, (size_t)1024);
        f->prints = mem_realloc(f->prints, f->print_room * sizeof(*f->prints));
    }
    INVARIANT(f->print_count < f->print_room);
    f->prints[f->print_count++] = print;
}

static void take_prints(struct reference_finder *f, struct slice block)
{
    const unsigned char *p = (const unsigned char *)block.data;
    uint64_t hash = 0;

    f->print_count = 0;
    for (size_t i = 0; i < block.len; i++) {
        hash = (hash << 1) + f->gear[p[i]];
        if (UNLIKELY((hash & SAMPLE_MASK) == 0))
            add_print(f, hash);
    }
}

/* The slot of @print. The bits that are zero in all of them choose nothing. */
static struct finder_slot *slot_of(struct reference_finder *f, uint64_t print)
{
    return &f->slots[(print >> (64 - SAMPLE_BITS - SLOT_BITS)) &
                     (SLOT_COUNT - 1)];
}

/* --- search -------------------------------------------------------------- */

/* The kept block of at most @bytes_max that the most fingerprints lead to, and
 * how many; 0: none. */
static uint32_t
count_votes(struct reference_finder *f, size_t bytes_max, size_t *votes)
{
    uint32_t best = 0;

    *votes = 0;
    for (size_t i = 0; i < f->print_count; i++) {
        const struct finder_slot *s = slot_of(f, f->prints[i]);
        if (s->tag != (uint32_t)f->prints[i] || s->number < f->oldest ||
            s->number == 0)
            continue;
        INVARIANT(s->number < f->next); /* INV-3 */
        if (kept_at(f, s->number)->reference.bytes.len > bytes_max)
            continue;
        if (++f->votes[s->number % KEPT_MAX] > *votes) {
            *votes = f->votes[s->number % KEPT_MAX];
            best = s->number;
        }
    }
    memset(f->votes, 0, sizeof(f->votes));
    return best;
}

const struct reference *reference_finder_search(struct reference_finder *f,
                                                struct slice block)
{
    uint32_t best;
    size_t votes;

    finder_check(f);
    take_prints(f, block);
    best = count_votes(f, MAX_OF(block.len, REFERENCE_BYTES_USUAL), &votes);
    if (best == 0 || votes * COMMON_PART < f->print_count)
        return NULL;
    return &kept_at(f, best)->reference;
}

void reference_finder_keep(struct reference_finder *f,
                           struct slice block,
                           const struct block_handle *handle)
{
    size_t len = block.len;
    struct kept_block *k;

    PRE(len > 0);
    if (len > REFERENCE_BYTES_MAX)
        return;
    while (f->oldest < f->next &&
           (f->kept_bytes + len > REFERENCE_KEPT_BYTES_MAX ||
            f->next - f->oldest == KEPT_MAX))
        forget_oldest(f);
    k = kept_at(f, f->next);
    INVARIANT(!k->bytes);
    k->bytes = mem_alloc(len);
    memcpy(k->bytes, block.data, len);
    k->reference = (struct reference){*handle, slice_make(k->bytes, len)};
    for (size_t i = 0; i < f->print_count; i++)
        *slot_of(f, f->prints[i]) =
            (struct finder_slot){(uint32_t)f->prints[i], f->next};
    f->kept_bytes += len;
    f->next++;
    finder_check(f);
}
