/* The flag that SIGINT (Ctrl-C) and SIGTERM set; a second one ends the process
 * at once. Signals belong to the process, so this is one of the few variables
 * outside any struct.
 */
#include "cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/core/ignore_result.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

#define EXIT_INTERRUPTED 130

static atomic_bool flag;
/* An eventfd that the handler writes to, so that a read that begins just after
 * the signal ends too. -1: only the shell asks for it. */
static atomic_int wakeup_fd = -1;

STATIC_ASSERT(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler sets it");
STATIC_ASSERT(ATOMIC_INT_LOCK_FREE == 2, "a signal handler reads it");

static void on_interrupt(int number)
{
    int before = errno;
    (void)number;
    if (atomic_exchange(&flag, true))
        _exit(EXIT_INTERRUPTED);
    if (atomic_load(&wakeup_fd) >= 0) {
        /* It is readable already. */
        IGNORE_RESULT(eventfd_write(atomic_load(&wakeup_fd), 1));
    }
    errno = before;
}

/* No call of the system fails because of it. */
static void interrupt_install(void (*handler)(int))
{
    struct sigaction action = {.sa_flags = SA_RESTART};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

const atomic_bool *interrupt_watch(void)
{
    interrupt_install(on_interrupt);
    return &flag;
}

const atomic_bool *interrupt_watch_shell(void)
{
    eventfd_t rung;
    if (atomic_load(&wakeup_fd) < 0)
        atomic_store(&wakeup_fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    atomic_store(&flag, false);
    /* There was no signal. */
    IGNORE_RESULT(eventfd_read(atomic_load(&wakeup_fd), &rung));
    interrupt_install(on_interrupt);
    return &flag;
}

ssize_t interrupt_read(int fd, void *to, size_t len)
{
    struct pollfd p[] = {{.fd = fd, .events = POLLIN},
                         {.fd = atomic_load(&wakeup_fd), .events = POLLIN}};
    PRE(fd >= 0);
    while (!interrupted())
        if (poll(p, ARRAY_LEN(p), -1) >= 0 && p[0].revents != 0)
            return read(fd, to, len);
    errno = EINTR;
    return -1;
}

void interrupt_unwatch(void)
{
    interrupt_install(SIG_DFL);
    atomic_store(&flag, false);
}

bool interrupted(void)
{
    return atomic_load(&flag);
}
