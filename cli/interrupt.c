/* The flag that Ctrl-C sets. Signals belong to the process, so this is one of
 * the few variables outside any struct. */
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/core/macros.h"

#define EXIT_INTERRUPTED 130

static atomic_bool flag;

STATIC_ASSERT(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler sets it");

static void on_interrupt(int number)
{
    (void)number;
    if (atomic_exchange(&flag, true))
        _exit(EXIT_INTERRUPTED);
}

static void install(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_flags = flags};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

const atomic_bool *interrupt_watch(void)
{
    install(on_interrupt, SA_RESTART);
    return &flag;
}

const atomic_bool *interrupt_watch_shell(void)
{
    atomic_store(&flag, false);
    install(on_interrupt, 0);
    return &flag;
}

void interrupt_unwatch(void)
{
    install(SIG_DFL, 0);
    atomic_store(&flag, false);
}

bool interrupted(void)
{
    return atomic_load(&flag);
}
