/* Compiler attributes and small macros for every file. */
#ifndef BASE_CORE_MACROS_H
#define BASE_CORE_MACROS_H

#include <stddef.h>

#define MUST_CHECK              __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NORETURN                __attribute__((noreturn))
#define NOINLINE                __attribute__((noinline))
#define UNUSED                  __attribute__((unused))
#define LIKELY(x)               __builtin_expect(!!(x), 1)
#define UNLIKELY(x)             __builtin_expect(!!(x), 0)

/* Symbols of the installed C libraries; everything else stays hidden. */
#define QUARRY_EXPORT __attribute__((visibility("default")))
/* Follows the declarator of an exported function whose C name has no prefix:
 * the symbol of buf_append is quarry_buf_append, which cannot collide with
 * another library's. */
#define QUARRY_SYMBOL(name) __asm__("quarry_" #name)

/* 1 under AddressSanitizer: memory is not kept for reuse then, so that a use
 * after release is found. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUILT_WITH_ASAN 1
#endif
#endif
#if !defined(BUILT_WITH_ASAN) && defined(__SANITIZE_ADDRESS__)
#define BUILT_WITH_ASAN 1
#endif
#ifndef BUILT_WITH_ASAN
#define BUILT_WITH_ASAN 0
#endif

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#ifdef __cplusplus
#define STATIC_ASSERT(c, m) static_assert(c, m)
#else
#define STATIC_ASSERT(c, m) _Static_assert(c, m)
#endif

/* The struct of @type that holds @member at address @ptr. */
#define CONTAINER_OF(ptr, type, member)                                        \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#endif /* BASE_CORE_MACROS_H */
