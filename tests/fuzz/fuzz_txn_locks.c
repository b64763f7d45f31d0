/* Bytes as what the hidden cells of transactions contain: a lock with its
 * writes, the last commit, a status. Whatever is taken is bounded by the bytes,
 * a lock that is read is written again as it was, and the changes that its
 * writes make are whole. */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/client/client.h"
#include "bigtable/row/hidden.h"
#include "bigtable/row/mutation.h"
#include "bigtable/txn/txn_record.h"

/* Of a table that has all families but "gone". */
static int
check_family(struct quarry_table *t, const char *family, struct err *err)
{
    (void)t;
    return slice_eq_str(slice_str(family), "gone")
               ? err_set(err, ERR_NOTFOUND, "no family")
               : 0;
}

static const struct target_ops ops = {.table_check_family = check_family};

/* A commit of what the lock wants to write, to a row with a few cells. */
static void use_writes(const struct txn_lock *lock)
{
    struct quarry_table table = {.ops = &ops};
    struct quarry_cell cells[2] = {
        {SLICE_LIT("f"), SLICE_LIT("q"), 7, SLICE_LIT("new"), SLICE_EMPTY},
        {SLICE_LIT("f"), SLICE_LIT("q"), 5, SLICE_LIT("old"), SLICE_EMPTY}};
    const struct quarry_row row = {SLICE_LIT("r"), cells, 2};
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("r"));
    struct quarry_filter *f = txn_filter_deleted(lock);
    if (f && !txn_writes_delete(lock))
        PANIC("a filter for deletions of a lock that has none");
    quarry_filter_free(f);
    if (txn_put_writes(m, &table, lock, 9, NULL) == 0) {
        txn_put_deleted(m, lock, &row, 9, 6);
        if (m->error)
            PANIC("writes of a lock that is whole make a bad change");
    }
    quarry_mutation_free(m);
}

static void use_lock(struct slice value)
{
    struct buf again = BUF_INIT;
    struct txn_lock lock;
    struct txn_lock back;
    if (value.len == 0 || txn_lock_decode(value, &lock, NULL))
        return;
    txn_lock_encode(&lock, &again);
    if (txn_lock_decode(buf_slice(&again), &back, NULL) ||
        back.start != lock.start || back.min_commit != lock.min_commit ||
        back.expiry != lock.expiry || !slice_eq(back.table, lock.table) ||
        !slice_eq(back.row, lock.row) || back.op_count != lock.op_count ||
        !slice_eq(back.ops, lock.ops))
        PANIC("a lock is not read back as it was written");
    buf_close(&again);
    use_writes(&lock);
}

/* The first byte says where the names end and the values begin. */
static void use_state(struct slice in)
{
    size_t cut = in.len ? MIN_OF((size_t)(uint8_t)in.data[0], in.len) : 0;
    struct slice name = slice_sub(in, 0, cut);
    struct slice value = slice_sub(in, cut, in.len);
    struct quarry_cell cells[3] = {
        {SLICE_LIT(HIDDEN_COMMITS), SLICE_LIT("c"), 1, value, SLICE_EMPTY},
        {SLICE_LIT(HIDDEN_LOCKS), SLICE_LIT("l"), 1, value, SLICE_EMPTY},
        {SLICE_LIT(HIDDEN_LOCKS), name, 1, value, SLICE_EMPTY}};
    struct txn_state state;
    int64_t start;
    for (size_t i = 0; i < 3; i++) {
        const struct quarry_row row = {SLICE_LIT("r"), &cells[i], 1};
        if (txn_state_read(&row, &state, NULL) == 0)
            INVARIANT(!state.locked || value.len > 0);
        if (txn_status_start(&cells[i], &start))
            INVARIANT(value.len == 8);
        (void)txn_state_has_commit(&row, 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    use_lock(in);
    use_state(in);
    return 0;
}
