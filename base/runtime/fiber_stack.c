/* Stacks of fibers: mapped memory above a guard page, so that an overflow ends
 * the process at once instead of writing into a neighbour. */
#define _GNU_SOURCE

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/core/panic.h"
#include "base/runtime/fiber_loop.h"
#include "base/runtime/sanitize.h"

#define GUARD_BYTES ((size_t)4096)

char *fiber_stack_map(void)
{
    size_t bytes = GUARD_BYTES + FIBER_STACK_BYTES;
    char *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED || mprotect(p, GUARD_BYTES, PROT_NONE) < 0)
        PANIC("map a stack of %zu bytes: %s", bytes, strerror(errno));
    return p + GUARD_BYTES;
}

void fiber_stack_unmap(char *stack)
{
    /* The next mapping at this address must not inherit the poison of frames
     * that never returned. */
    asan_fresh_stack(stack, FIBER_STACK_BYTES);
    munmap(stack - GUARD_BYTES, GUARD_BYTES + FIBER_STACK_BYTES);
}
