/* The escapes as a shared object: what a job in C would try. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mapreduce/mapreduce.h"
#include "tests/lib/escapes.h"

/* Read the targets from the environment of commands. */
static void take_aims(const struct mr_task *t)
{
    static const char *const names[][2] = {
        {"master", "QUARRY_PARAM_master"},
        {"bystander", "QUARRY_PARAM_bystander"},
        {"address", "QUARRY_PARAM_address"},
        {"named", "QUARRY_PARAM_named"},
        {"named_datagram", "QUARRY_PARAM_named_datagram"},
        {"abstract", "QUARRY_PARAM_abstract"},
        {"abstract_datagram", "QUARRY_PARAM_abstract_datagram"},
        {"tcp", "QUARRY_PARAM_tcp"},
        {"segment", "QUARRY_PARAM_segment"},
        {"queue", "QUARRY_PARAM_queue"},
        {"shared", "QUARRY_PARAM_shared"},
        {"key", "QUARRY_PARAM_key"},
        {"home", "QUARRY_PARAM_home"},
        {"other_job", "QUARRY_PARAM_other_job"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mr_param(t, names[i][0]))
            setenv(names[i][1], mr_param(t, names[i][0]), 1);
}

static int map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)r;
    (void)err;
    take_aims(t);
    for (size_t i = 0; i < escape_count; i++) {
        long result = escapes[i].attempt();
        mr_write(mr_output(t, NULL), slice_str(escapes[i].name),
                 slice_str(result >= 0 ? "done" : strerrorname_np(errno)));
    }
    return 0;
}

/* Code of an object runs before anybody has asked for it. */
__attribute__((constructor)) static void begin(void)
{
    if (access("/etc/shadow", F_OK) == 0)
        _exit(99);
}

static const struct mr_job escape_job = {.abi_version = MR_ABI_VERSION,
                                         .name = "escapes",
                                         .map = map,
                                         .any_params = true};
MAPREDUCE_JOB(escape_job);
