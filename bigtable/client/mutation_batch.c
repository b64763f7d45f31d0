/* Mutations as users build them: the names of quarry.h for row/mutation.h,
 * which encodes each operation as it is added.
 */
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/row/mutation.h"

STATIC_ASSERT(QUARRY_NOW == MUTATION_NOW, "one value means the present");

struct quarry_mutation *quarry_mutation_new(struct slice row)
{
    struct quarry_mutation *m = mem_alloc(sizeof(*m));
    mutation_init(m, row);
    return m;
}

void quarry_mutation_free(struct quarry_mutation *m)
{
    if (!m)
        return;
    mutation_close(m);
    mem_free(m);
}

void quarry_mutation_reset(struct quarry_mutation *m, struct slice row)
{
    mutation_reset(m, row);
}

void quarry_mutation_set(struct quarry_mutation *m,
                         const char *family,
                         struct slice qualifier,
                         int64_t timestamp_us,
                         struct slice value)
{
    mutation_set(m, slice_str(family), qualifier, timestamp_us, value);
}

void quarry_mutation_add(struct quarry_mutation *m,
                         const char *family,
                         struct slice qualifier,
                         int64_t timestamp_us,
                         int64_t input)
{
    char bytes[8];
    put_be64(bytes, (uint64_t)input);
    quarry_mutation_add_bytes(m, family, qualifier, timestamp_us,
                              slice_make(bytes, sizeof(bytes)));
}

void quarry_mutation_add_bytes(struct quarry_mutation *m,
                               const char *family,
                               struct slice qualifier,
                               int64_t timestamp_us,
                               struct slice input)
{
    mutation_operand(m, MUTATION_ADD, slice_str(family), qualifier,
                     timestamp_us, input);
}

void quarry_mutation_merge(struct quarry_mutation *m,
                           const char *family,
                           struct slice qualifier,
                           int64_t timestamp_us,
                           struct slice state)
{
    mutation_operand(m, MUTATION_MERGE, slice_str(family), qualifier,
                     timestamp_us, state);
}

void quarry_mutation_delete_cells(struct quarry_mutation *m,
                                  const char *family,
                                  struct slice qualifier,
                                  int64_t min_us,
                                  int64_t max_us)
{
    mutation_delete_cells(m, slice_str(family), qualifier, min_us, max_us);
}

void quarry_mutation_delete_family(struct quarry_mutation *m,
                                   const char *family)
{
    mutation_delete_family(m, slice_str(family));
}

void quarry_mutation_delete_row(struct quarry_mutation *m)
{
    mutation_delete_row(m);
}

size_t quarry_mutation_count(const struct quarry_mutation *m)
{
    return m->count;
}

size_t quarry_mutation_bytes(const struct quarry_mutation *m)
{
    return m->row.len + m->ops.len;
}
