/* Words for signals, statuses and limits. A limit shows as a signal or a failed
 * allocation: the description names the option that raises it, since the user
 * sees nothing else of a process that was killed. */
#define _GNU_SOURCE

#include "mapreduce/attempt/death.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/core/buf.h"
#include "base/core/text.h"
#include "mapreduce/job.h"

/* Describe the limit that ended the attempt, if one did. */
static bool describe_limit(const struct mr_options *o,
                           enum zygote_reason reason,
                           int status,
                           struct buf *out)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (reason == ZYGOTE_PROCESSES) {
        buf_printf(out, "killed: it started more than %u processes",
                   o->processes_max);
    } else if (reason == ZYGOTE_MEMORY) {
        buf_append_str(out, "killed: its processes used more memory than ");
        text_put_bytes(out, o->heap_bytes);
    } else if (sig == SIGXCPU) {
        buf_append_str(out, "killed: it used more processor time than ");
        text_put_duration(out, o->cpu_us);
    } else if (sig == SIGXFSZ) {
        buf_append_str(out, "killed: it wrote a file of more than ");
        text_put_bytes(out, o->file_bytes);
    }
    return out->len > 0;
}

static void describe_status(char *out, size_t len, int status)
{
    if (WIFSIGNALED(status))
        snprintf(out, len, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, len, "exited with status %d without a report",
                 WEXITSTATUS(status));
}

void death_describe(const struct mr_options *o,
                    enum zygote_reason reason,
                    int status,
                    char *out,
                    size_t len)
{
    struct buf limit = BUF_INIT;
    if (describe_limit(o, reason, status, &limit))
        snprintf(out, len, "%s", buf_cstr(&limit));
    else
        describe_status(out, len, status);
    buf_close(&limit);
}
