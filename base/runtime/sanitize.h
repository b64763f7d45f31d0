/* Announcements of stack switches to the sanitizers; empty functions without
 * them. Private to base/runtime. */
#ifndef BASE_RUNTIME_SANITIZE_H
#define BASE_RUNTIME_SANITIZE_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* Before leaving a stack for the one of @bytes at @bottom. @save NULL: the
 * stack left is never used again. */
static inline void asan_leave(void **save, const void *bottom, size_t bytes)
{
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(save, bottom, bytes);
#else
    (void)save;
    (void)bottom;
    (void)bytes;
#endif
}

/* The first call on the new stack; returns which stack was left. */
static inline void
asan_arrive(void *saved, const void **old_bottom, size_t *old_bytes)
{
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(saved, old_bottom, old_bytes);
#else
    (void)saved;
    (void)old_bottom;
    (void)old_bytes;
#endif
}

/* A stack is reused or unmapped: frames that never returned have left
 * poison. */
static inline void asan_fresh_stack(const void *bottom, size_t bytes)
{
#ifdef WITH_ASAN
    __asan_unpoison_memory_region(bottom, bytes);
#else
    (void)bottom;
    (void)bytes;
#endif
}

static inline void *tsan_new(void)
{
#ifdef WITH_TSAN
    return __tsan_create_fiber(0);
#else
    return NULL;
#endif
}

static inline void tsan_free(void *fiber)
{
#ifdef WITH_TSAN
    __tsan_destroy_fiber(fiber);
#else
    (void)fiber;
#endif
}

static inline void *tsan_self(void)
{
#ifdef WITH_TSAN
    return __tsan_get_current_fiber();
#else
    return NULL;
#endif
}

static inline void tsan_switch(void *fiber)
{
#ifdef WITH_TSAN
    __tsan_switch_to_fiber(fiber, 0);
#else
    (void)fiber;
#endif
}

#endif /* BASE_RUNTIME_SANITIZE_H */
