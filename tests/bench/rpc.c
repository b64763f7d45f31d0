/* The frame of both echo benchmarks. */
#define _GNU_SOURCE

#include "tests/bench/rpc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static double cpu_of(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return seconds(&u.ru_utime) + seconds(&u.ru_stime);
}

void bench_rpc_parse(struct bench_rpc *b, int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s BYTES IN_FLIGHT CALLS\n", argv[0]);
        exit(2);
    }
    b->bytes = (size_t)strtoull(argv[1], NULL, 10);
    b->in_flight = (size_t)strtoull(argv[2], NULL, 10);
    b->calls = strtoull(argv[3], NULL, 10);
}

void bench_rpc_begin(struct bench_rpc *b)
{
    b->start_cpu_s = cpu_of(RUSAGE_SELF);
    b->start_s = now_s();
}

void bench_rpc_end(struct bench_rpc *b, int server)
{
    double wall = now_s() - b->start_s;
    double cpu = cpu_of(RUSAGE_SELF) - b->start_cpu_s;
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    cpu += cpu_of(RUSAGE_CHILDREN);
    printf("%.0f %.3f\n", (double)b->calls / wall,
           cpu * 1e6 / (double)b->calls);
}
