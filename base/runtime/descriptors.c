/* The limit on descriptors, and its division. Nothing is counted: the kernel
 * hands out the lowest free number, so comparing the number of a new
 * descriptor with a threshold is enough. */
#include "base/runtime/descriptors.h"

#include <sys/resource.h>

#include "base/core/macros.h"

/* Used if the system does not report a limit. */
#define LIMIT_GUESS 1024

static size_t limit_of(rlim_t n)
{
    return n == RLIM_INFINITY || n > DESCRIPTORS_RAISED_MAX
               ? DESCRIPTORS_RAISED_MAX
               : (size_t)n;
}

size_t descriptors_raise(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0)
        return LIMIT_GUESS;
    if (r.rlim_cur != RLIM_INFINITY && r.rlim_cur < limit_of(r.rlim_max)) {
        r.rlim_cur = limit_of(r.rlim_max);
        (void)setrlimit(RLIMIT_NOFILE, &r);
    }
    return descriptors_limit();
}

size_t descriptors_limit(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0)
        return LIMIT_GUESS;
    return limit_of(r.rlim_cur);
}

size_t descriptors_for_connections(size_t limit)
{
    return limit - MIN_OF(limit / 2, DESCRIPTORS_FOR_FILES);
}

bool descriptors_admit(int fd, bool nearby)
{
    size_t limit = descriptors_limit();
    size_t most = descriptors_for_connections(limit);
    if (nearby)
        most += (limit - most) / 2;
    return fd >= 0 && (size_t)fd < most;
}
