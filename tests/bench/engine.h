/* One key-value store under measurement. engine.c drives the phases; each
 * engine_*.c implements these functions over one store and is linked with it
 * into a program of its own: one process runs one phase on one directory.
 */
#ifndef TESTS_BENCH_ENGINE_H
#define TESTS_BENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENGINE_KEY_BYTES 16

struct engine_config {
    const char *dir;
    bool zstd; /* Else no compression. */
    size_t block_bytes;
    size_t cache_bytes;
    size_t memtable_bytes;
    bool sync;         /* Every commit is on the disk; else in the system. */
    bool direct_reads; /* Past the page cache, where the store can. */
};

struct engine_thread; /* The state of one thread. */

extern const char *const engine_name;

void engine_open(const struct engine_config *c);
void engine_close(void);
struct engine_thread *engine_thread_new(void);
void engine_thread_free(struct engine_thread *t);
void engine_put(struct engine_thread *t,
                const char *key,
                const char *value,
                size_t len);
void engine_commit(struct engine_thread *t);
/* Length of the value, or -1. */
long engine_get(struct engine_thread *t, const char *key);
/* Walk over at most @max entries from @from on; their number. */
long engine_scan(struct engine_thread *t, const char *from, long max);
void engine_compact(void);
bool engine_is_busy(void); /* Known to be compacting. */

#endif /* TESTS_BENCH_ENGINE_H */
