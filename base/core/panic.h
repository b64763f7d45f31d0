/* The end of the process, for states that must not occur, and assertions.
 *
 * PRE, POST and INVARIANT are always on: they cost a predictable branch and
 * guard the data that is stored. ASSERT_SLOW is for checks that walk a
 * structure; only debug builds (QUARRY_SLOW_ASSERTS) have it. Conditions have
 * no side effects and state one fact each. They guard against defects of this
 * program: bytes from disk, network or users get errors.
 *
 * Memory: mem_alloc and its family never return NULL. Linux overcommits, so a
 * process whose small allocation fails is about to be killed anyway; it reports
 * that and ends, and recovers from its log at the next start. A size from
 * outside (a file, a peer, a user) is bounded first and then allocated with
 * mem_try_alloc, whose NULL becomes ERR_NOMEM.
 */
#ifndef BASE_CORE_PANIC_H
#define BASE_CORE_PANIC_H

#include <stddef.h>

#include "base/core/macros.h"

/* Print "file:line: message" and a backtrace to standard error, and abort. */
NORETURN void panic_at(const char *file, int line, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

#define PANIC(...) panic_at(__FILE__, __LINE__, __VA_ARGS__)

#define ASSERT_KIND(kind, cond)                                                \
    (LIKELY(cond) ? (void)0                                                    \
                  : panic_at(__FILE__, __LINE__, kind " failed: %s", #cond))

#define PRE(cond)       ASSERT_KIND("precondition", cond)
#define POST(cond)      ASSERT_KIND("postcondition", cond)
#define INVARIANT(cond) ASSERT_KIND("invariant", cond)
#ifdef QUARRY_SLOW_ASSERTS
#define ASSERT_SLOW(cond) ASSERT_KIND("slow assertion", cond)
#else
#define ASSERT_SLOW(cond) ((void)sizeof(cond))
#endif

/* @size bytes, uninitialised; @size 0 gives a unique pointer. Owned. */
void *mem_alloc(size_t size);

/* @count * @size zeroed bytes; panics when the product overflows. Owned. */
void *mem_zalloc(size_t count, size_t size);
/* Give freed memory back to the system, which takes some milliseconds a GiB;
 * after that, touching it costs as if it were new. Any thread. */
void mem_release(void);

/* Resize @p (NULL allowed) to @size bytes. Owned. */
void *mem_realloc(void *p, size_t size);

/* As mem_alloc, but NULL when memory is short: for sizes from outside. */
MUST_CHECK void *mem_try_alloc(size_t size);

/* A NUL-terminated copy of the @len bytes at @p. Owned. */
char *mem_strndup(const char *p, size_t len);
/* A copy of the string @s. Owned. */
char *mem_strdup(const char *s);

/* Free what any of the above returned; NULL is allowed. */
QUARRY_EXPORT void mem_free(void *p) QUARRY_SYMBOL(mem_free);

#endif /* BASE_CORE_PANIC_H */
