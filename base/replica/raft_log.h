/* The entries a member of a cell holds in memory: all since its snapshot, and
 * some from before it for members that lag.
 *
 * The bytes of an entry are shared by reference between this table, the disk's
 * queue and messages, so that a command is copied once.
 *
 * Threads: one; references are counted without atomics. A caller that hands the
 * bytes to another thread keeps a reference until that thread is done.
 *
 * Invariants, kept by raft_log.c
 *     INV-1. Terms never decrease from the base to the last entry.
 *     INV-2. end_bytes grows from entry to entry, by at least
 *            RAFT_ENTRY_OVERHEAD_BYTES.
 *     INV-3. begin + count <= cap; each entry holds a reference to its bytes.
 */
#ifndef BASE_REPLICA_RAFT_LOG_H
#define BASE_REPLICA_RAFT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

enum raft_entry_kind {
    RAFT_ENTRY_COMMAND = 1, /* For the machine. */
    RAFT_ENTRY_NOOP = 2,    /* A leader's first. */
    RAFT_ENTRY_CONFIG = 3,  /* raft_config.h; in force once appended. */
};

/* Bytes shared by reference. */
struct raft_bytes {
    unsigned refs;
    size_t len;
    char data[];
};

/* A copy of @s with one reference. */
struct raft_bytes *raft_bytes_new(struct slice s);
/* One more reference; returns @b. */
struct raft_bytes *raft_bytes_ref(struct raft_bytes *b);
/* Drop a reference; the last one frees. */
void raft_bytes_unref(struct raft_bytes *b);

static inline struct slice raft_bytes_slice(const struct raft_bytes *b)
{
    return slice_make(b->data, b->len);
}

struct raft_entry {
    uint64_t term;
    enum raft_entry_kind kind;
    struct raft_bytes *bytes; /* One reference. */
    uint64_t end_bytes;       /* Bytes of all entries up to and with this one
                                 since the log was made; set by the log. */
};

/* The cost of an entry beside its bytes, so that bounds in bytes bound empty
 * entries too. */
#define RAFT_ENTRY_OVERHEAD_BYTES 32

struct raft_log {
    uint64_t base_index; /* Of the entry before the first; 0: none ever. */
    uint64_t base_term;
    uint64_t base_bytes;        /* Its end_bytes. */
    struct raft_entry *entries; /* Owned: [begin, begin + count). */
    size_t begin;
    size_t count;
    size_t cap;
};

/* An empty log that follows entry (@index, @term). */
void raft_log_init(struct raft_log *l, uint64_t index, uint64_t term);
/* Drop all references and free the table. */
void raft_log_close(struct raft_log *l);

static inline uint64_t raft_log_last(const struct raft_log *l)
{
    return l->base_index + l->count;
}

/* The entry at @index, or NULL when it is not held. Borrowed until the next
 * change. */
const struct raft_entry *raft_log_get(const struct raft_log *l, uint64_t index);
/* Its term; that of the base for the base; else 0. */
uint64_t raft_log_term(const struct raft_log *l, uint64_t index);
/* Bytes of entries in (@from, @to]. PRE: both held, or the base. */
uint64_t raft_log_bytes(const struct raft_log *l, uint64_t from, uint64_t to);

/* Append; takes over the reference to @bytes. PRE: @term is not older than the
 * last entry's. */
void raft_log_append(struct raft_log *l,
                     uint64_t term,
                     enum raft_entry_kind kind,
                     struct raft_bytes *bytes);
/* Drop entries @index and above. PRE: index > base_index. */
void raft_log_truncate(struct raft_log *l, uint64_t index);
/* Drop entries up to and with @index, which becomes the base. PRE: held. */
void raft_log_drop_prefix(struct raft_log *l, uint64_t index);
/* Drop everything; the base is then (@index, @term). */
void raft_log_reset(struct raft_log *l, uint64_t index, uint64_t term);

/* References to [@index, @index + @count), in a new array. Owned:
 * raft_entries_free(). */
struct raft_entry *
raft_log_copy(const struct raft_log *l, uint64_t index, size_t count);
void raft_entries_free(struct raft_entry *entries, size_t count);

#endif /* BASE_REPLICA_RAFT_LOG_H */
