/* The choice of compactions: size-tiered above a lazily levelled bottom run, as
 * the header says. The first full tier from the newest run on wins, because
 * small runs are the cheapest to merge and the most often read through; the
 * bottom is rewritten only when no tier is full.
 */
#include "bigtable/lsm/compaction_choice.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

bool choice_run_overlaps(const struct choice_run *run,
                         struct slice first_row,
                         struct slice last_row)
{
    size_t low = 0;
    size_t high = run->table_count;
    PRE(slice_cmp(first_row, last_row) <= 0);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(run->tables[middle].last_row, first_row) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->table_count &&
           slice_cmp(run->tables[low].first_row, last_row) <= 0;
}

uint32_t choose_flush_run(const struct choice_run *runs,
                          size_t run_count,
                          struct slice first_row,
                          struct slice last_row,
                          uint32_t busy_min,
                          uint32_t busy_max)
{
    size_t i = 0;

    PRE(slice_cmp(first_row, last_row) <= 0);
    PRE(run_count == 0 || runs[0].number >= busy_max || busy_min > busy_max);
    while (i < run_count && runs[i].number > busy_max &&
           !choice_run_overlaps(&runs[i], first_row, last_row))
        i++;
    if (busy_min > busy_max) {
        /* Nothing is being compacted: consider older runs as well. */
        while (i < run_count &&
               !choice_run_overlaps(&runs[i], first_row, last_row))
            i++;
    }
    if (i > 0)
        return runs[i - 1].number;
    return run_count > 0 ? runs[0].number + 1 : 1;
}

static uint64_t size_of(const struct choice_run *r, uint64_t base_bytes)
{
    PRE(base_bytes > 0);
    return MAX_OF(r->bytes, base_bytes);
}

static struct compaction_choice
compaction_choice_window(const struct choice_run *runs,
                         size_t first,
                         size_t count)
{
    struct compaction_choice c = {.first = first, .count = count};
    PRE(count > 0);

    for (size_t i = first; i < first + count; i++)
        c.bytes += runs[i].bytes;
    return c;
}

/* The number of runs from @first on that are of the tier of run @first. Smaller
 * runs between larger ones count with them. */
static size_t tier_length(const struct choice_run *runs,
                          size_t run_count,
                          size_t first,
                          uint64_t base_bytes)
{
    uint64_t largest = size_of(&runs[first], base_bytes);
    uint64_t bound = largest * TIER_WIDTH;
    size_t i = first;

    PRE(first < run_count);
    PRE(base_bytes > 0);
    while (i < run_count && size_of(&runs[i], base_bytes) < bound)
        i++;
    return i - first;
}

/* The cheapest window that brings the number of runs under RUNS_MAX. */
static struct compaction_choice
compaction_choice_cheapest(const struct choice_run *runs, size_t run_count)
{
    size_t count = run_count - RUNS_MAX + 1;
    struct compaction_choice best;

    PRE(run_count > RUNS_MAX);
    if (count < 2)
        count = 2;
    best = compaction_choice_window(runs, 0, count);
    for (size_t first = 1; first + count <= run_count; first++) {
        struct compaction_choice c =
            compaction_choice_window(runs, first, count);
        if (c.bytes < best.bytes)
            best = c;
    }
    POST(best.first + best.count <= run_count);
    return best;
}

struct compaction_choice choose_compaction(const struct choice_run *runs,
                                           size_t run_count,
                                           uint64_t base_bytes)
{
    struct compaction_choice none = {0};
    struct compaction_choice above;

    PRE(base_bytes > 0);
    if (run_count < 2)
        return none;
    for (size_t first = 0; first + TIER_RUNS_MAX <= run_count; first++) {
        size_t length = tier_length(runs, run_count, first, base_bytes);
        if (length >= TIER_RUNS_MAX)
            return compaction_choice_window(runs, first, length);
    }
    above = compaction_choice_window(runs, 0, run_count - 1);
    if (run_count > 2 &&
        above.bytes >= BOTTOM_GROWTH * runs[run_count - 1].bytes &&
        runs[run_count - 1].bytes >= TIER_WIDTH * base_bytes)
        return compaction_choice_window(runs, 0, run_count);
    if (run_count > RUNS_MAX)
        return compaction_choice_cheapest(runs, run_count);
    return none;
}
