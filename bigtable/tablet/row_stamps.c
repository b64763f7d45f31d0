/* The slots of row_stamps.h: one array, of fixed size, so that a slot's address
 * never changes and readers take no lock.
 */
#include "bigtable/tablet/row_stamps.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

void row_stamps_init(struct row_stamps *s)
{
    s->slots = mem_zalloc(ROW_STAMP_COUNT, sizeof(*s->slots));
}

void row_stamps_close(struct row_stamps *s)
{
    mem_free(s->slots);
    s->slots = NULL;
}

void row_stamps_set_all(struct row_stamps *s, uint64_t sequence)
{
    PRE(s->slots != NULL);
    for (size_t i = 0; i < ROW_STAMP_COUNT; i++)
        atomic_store_explicit(&s->slots[i], sequence, memory_order_relaxed);
}
