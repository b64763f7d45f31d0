/* Giving out numbers of files. Undecided numbers are few (one for each file
 * being written), so they are kept in an unsorted array.
 */
#include "bigtable/store/file_numbers.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

void file_numbers_init(struct file_numbers *f, uint64_t first)
{
    *f = (struct file_numbers){.next = first};
    mutex_init(&f->lock);
}

void file_numbers_close(struct file_numbers *f)
{
    INVARIANT(f->count <= f->cap);
    mutex_close(&f->lock);
    mem_free(f->undecided);
}

/* @f is locked. */
static void file_numbers_check(const struct file_numbers *f)
{
    PRE(mutex_is_held(&f->lock));
    INVARIANT(f->count <= f->cap);
    INVARIANT(!f->undecided == (f->cap == 0));
}

void file_numbers_begin_at(struct file_numbers *f, uint64_t first)
{
    mutex_lock(&f->lock);
    f->next = MAX_OF(f->next, first);
    file_numbers_check(f);
    mutex_unlock(&f->lock);
}

uint64_t file_numbers_take(struct file_numbers *f)
{
    uint64_t number;
    mutex_lock(&f->lock);
    number = f->next++;
    if (f->count == f->cap) {
        f->cap = MAX_OF(2 * f->cap, (size_t)8);
        f->undecided = mem_realloc(f->undecided, f->cap * sizeof(uint64_t));
    }
    INVARIANT(f->count < f->cap);
    f->undecided[f->count++] = number;
    file_numbers_check(f);
    mutex_unlock(&f->lock);
    return number;
}

void file_numbers_decide(struct file_numbers *f, uint64_t number)
{
    size_t i = 0;
    PRE(number > 0);
    mutex_lock(&f->lock);
    while (i < f->count && f->undecided[i] != number)
        i++;
    if (i < f->count)
        f->undecided[i] = f->undecided[--f->count];
    file_numbers_check(f);
    mutex_unlock(&f->lock);
}

uint64_t file_numbers_next(struct file_numbers *f)
{
    uint64_t next;
    mutex_lock(&f->lock);
    next = f->next;
    mutex_unlock(&f->lock);
    return next;
}

uint64_t file_numbers_decided(struct file_numbers *f)
{
    uint64_t low;
    mutex_lock(&f->lock);
    low = f->next;
    for (size_t i = 0; i < f->count; i++)
        low = MIN_OF(low, f->undecided[i]);
    POST(low <= f->next);
    mutex_unlock(&f->lock);
    return low;
}
