/* How a process ends after something that cannot happen has happened, and
 * the allocators that end it that way. The message goes to standard error
 * without the logger and without allocating: neither can be trusted any
 * more. */
#include "base/core/panic.h"

#include <execinfo.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/fault.h"

#define BACKTRACE_FRAMES_MAX 48

/* No legitimate size is larger, and sanitizers' allocators end the process
 * for larger ones. */
#define MEM_TRY_BYTES_MAX ((size_t)1 << 38)

void panic_at(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    void *frames[BACKTRACE_FRAMES_MAX];

    fprintf(stderr, "quarry: panic at %s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    backtrace_symbols_fd(frames, backtrace(frames, BACKTRACE_FRAMES_MAX),
                         STDERR_FILENO);
    abort();
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (UNLIKELY(!p))
        PANIC("out of memory: %zu bytes", size);
    return p;
}

void *mem_zalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (UNLIKELY(!p))
        PANIC("out of memory: %zu x %zu bytes", count, size);
    return p;
}

void *mem_realloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);
    if (UNLIKELY(!q))
        PANIC("out of memory: %zu bytes", size);
    return q;
}

void *mem_try_alloc(size_t size)
{
    if (size > MEM_TRY_BYTES_MAX || fault_hit(FAULT_ALLOC))
        return NULL;
    return malloc(size ? size : 1);
}

char *mem_strndup(const char *p, size_t len)
{
    char *s = mem_alloc(len + 1);
    if (len)
        memcpy(s, p, len);
    s[len] = '\0';
    return s;
}

void mem_release(void)
{
    (void)malloc_trim(0);
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

void mem_free(void *p)
{
    free(p);
}
