/* Restarting by execve() with the arguments that the process was started with.
 * The number of restarts in a row is carried in the environment; it decides how
 * long the next start waits.
 */
#define _GNU_SOURCE

#include "cli/server_restart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/slice.h"
#include "base/core/text.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"

/* Carries the number of restarts in a row. */
#define COUNT_NAME    "QUARRY_RESTARTS"
#define COUNT_MAX     UINT64_C(1000000)
#define ARGUMENTS_MAX 64

static char arguments_text[8192];
static char *arguments[ARGUMENTS_MAX + 1];
static char count_text[sizeof(COUNT_NAME) + 24];
static char *
    *environment; /* Of the next process image; owned, but for its texts. */
static uint64_t count; /* Lives before this one, each of them short. */
static uint64_t begun_ns;

static void note_arguments(void)
{
    FILE *f = fopen("/proc/self/cmdline", "rb");
    size_t len =
        f ? fread(arguments_text, 1, sizeof(arguments_text) - 1, f) : 0;
    size_t n = 0;
    for (char *p = arguments_text; n < ARGUMENTS_MAX; p += strlen(p) + 1) {
        if (p >= arguments_text + len)
            break;
        arguments[n++] = p;
    }
    if (f)
        (void)fclose(f);
    POST(n <= ARGUMENTS_MAX);
}

/* Those that this process starts are not told. */
static void note_environment(void)
{
    const char *text = getenv(COUNT_NAME);
    size_t n = 0;
    PRE(!environment);
    if (!text || text_parse_u64(slice_str(text), &count, NULL) != 0)
        count = 0;
    count = MIN_OF(count, COUNT_MAX);
    unsetenv(COUNT_NAME);
    while (environ[n])
        n++;
    environment = mem_zalloc(n + 2, sizeof(*environment));
    memcpy(environment, environ, n * sizeof(*environment));
    environment[n] = count_text;
}

void server_restart_note(struct world *w)
{
    note_arguments();
    note_environment();
    begun_ns = world_mono_ns(w);
}

bool server_restart_is_due(void)
{
    return count > 0;
}

uint64_t server_restart_count(void)
{
    return count;
}

static uint64_t pause_ms(void)
{
    uint64_t ms = RESTART_PAUSE_MS_MIN;
    PRE(count <= COUNT_MAX);
    for (uint64_t i = 1; i < count && ms < RESTART_PAUSE_MS_MAX; i++)
        ms *= 2;
    return MIN_OF(ms, RESTART_PAUSE_MS_MAX);
}

bool server_restart_wait(struct world *w, const sigset_t *ends)
{
    uint64_t ms = pause_ms();
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
                                   .tv_nsec = (long)(ms % 1000) * 1000000};
    int number = -1;
    if (count == 0)
        return true;
    log_warn(w, "server", "restarts times=%llu pause_ms=%llu",
             (unsigned long long)count, (unsigned long long)ms);
    do
        number = sigtimedwait(ends, NULL, &pause);
    while (number < 0 && errno == EINTR);
    begun_ns = world_mono_ns(w);
    if (number > 0)
        log_info(w, "server", "ended in the pause signal=%d", number);
    return number <= 0;
}

void server_restart_plan(struct world *w)
{
    uint64_t life_ms = (world_mono_ns(w) - begun_ns) / 1000000;
    uint64_t next = life_ms >= RESTART_LIFE_MS_CALM ? 1 : count + 1;
    PRE(environment);
    snprintf(count_text, sizeof(count_text), COUNT_NAME "=%llu",
             (unsigned long long)MIN_OF(next, COUNT_MAX));
}

void server_restart(void)
{
    sigset_t none;
    alarm(0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (arguments[0])
        execve("/proc/self/exe", arguments, environment);
}
