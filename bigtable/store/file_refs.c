/* Users of files, in an array sorted by number. Files come with rising numbers,
 * so adding one mostly appends, and a search is binary.
 */
#include "bigtable/store/file_refs.h"

#include <string.h>

#include "base/core/panic.h"

void file_refs_init(struct file_refs *r)
{
    *r = (struct file_refs){.count = 0};
    mutex_init(&r->lock);
}

void file_refs_close(struct file_refs *r)
{
    mem_free(r->refs);
    mutex_close(&r->lock);
}

/* Index of @number, or of where it belongs. */
static size_t file_refs_find(const struct file_refs *r, uint64_t number)
{
    size_t low = 0;
    size_t high = r->count;
    PRE(mutex_is_held(&r->lock));
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->refs[mid].number < number)
            low = mid + 1;
        else
            high = mid;
    }
    POST(low <= r->count);
    return low;
}

void file_refs_add(struct file_refs *r, uint64_t number)
{
    size_t i;
    PRE(number > 0);
    mutex_lock(&r->lock);
    i = file_refs_find(r, number);
    if (i < r->count && r->refs[i].number == number) {
        r->refs[i].count++;
    } else {
        if (r->count == r->cap) {
            r->cap = r->cap ? r->cap * 2 : 64;
            r->refs = mem_realloc(r->refs, r->cap * sizeof(*r->refs));
        }
        memmove(&r->refs[i + 1], &r->refs[i],
                (r->count - i) * sizeof(*r->refs));
        r->refs[i] = (struct file_ref){number, 1};
        r->count++;
    }
    INVARIANT(i == 0 || r->refs[i - 1].number < number);
    INVARIANT(i + 1 == r->count || r->refs[i + 1].number > number);
    INVARIANT(r->count <= r->cap);
    mutex_unlock(&r->lock);
}

bool file_refs_drop(struct file_refs *r, uint64_t number)
{
    bool last;
    size_t i;
    PRE(number > 0);
    mutex_lock(&r->lock);
    i = file_refs_find(r, number);
    PRE(i < r->count);
    PRE(r->refs[i].number == number);
    INVARIANT(r->refs[i].count > 0);
    last = --r->refs[i].count == 0;
    if (last) {
        r->count--;
        memmove(&r->refs[i], &r->refs[i + 1],
                (r->count - i) * sizeof(*r->refs));
    }
    mutex_unlock(&r->lock);
    return last;
}
