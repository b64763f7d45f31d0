/* Histories of transactions that read and append to lists, and the check that
 * one is snapshot isolated, or serialisable: after K. Kingsbury and P. Alvaro,
 * "Elle: Inferring Isolation Anomalies from Experimental Observations", VLDB
 * 2020. Since appended values are unique and lists show the order in which they
 * came, reads tell which transaction depends on which:
 *
 *     ww  appended the value before that of the other, to the same list
 *     wr  appended the last value that the other has read
 *     rw  has read a list that ends before the value that the other appended
 *     rt  had ended when the other began (strict: it must be seen)
 *
 * A cycle of ww, wr and rt is none of an order of commits. One in which no two
 * rw follow each other is none of snapshots. Any cycle at all is not
 * serialisable.
 *
 * Threads: one at a time.
 */
#ifndef TESTS_LIB_APPEND_HISTORY_H
#define TESTS_LIB_APPEND_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct append_history;

enum append_outcome {
    APPEND_UNKNOWN, /* The client died, or was not told. */
    APPEND_COMMITTED,
    APPEND_ABORTED
};

enum append_level {
    APPEND_SNAPSHOT,
    APPEND_SERIALIZABLE
};

struct append_history *append_history_new(void);
void append_history_free(struct append_history *h);

/* Transactions so far. */
size_t append_history_count(const struct append_history *h);

/* A transaction; its number is returned. @at: any clock that all share. */
size_t append_begin(struct append_history *h, int64_t at);
/* It read the list @key as @count values, which are copied, before any append
 * of its own to it. */
void append_read(struct append_history *h,
                 size_t txn,
                 uint64_t key,
                 const uint64_t *values,
                 size_t count);
/* It appended @value, never 0, which nobody else appends. */
void append_write(struct append_history *h,
                  size_t txn,
                  uint64_t key,
                  uint64_t value);
void append_end(struct append_history *h,
                size_t txn,
                enum append_outcome outcome,
                int64_t at);

/* True if the history is of @level; else @why says what is wrong. */
bool append_check(const struct append_history *h,
                  enum append_level level,
                  struct buf *why);

#endif /* TESTS_LIB_APPEND_HISTORY_H */
