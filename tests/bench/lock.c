/* The frame of both programs: processes, clocks, percentiles. */
#include "tests/bench/lock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP_S 0.5

static float *latencies;
static size_t latency_count;
static double started;

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void bench_commit(double us)
{
    if (!latencies)
        latencies = malloc(BENCH_LATENCIES_MAX * sizeof(*latencies));
    if (started > 0 && bench_now() > started + WARM_UP_S &&
        latency_count < BENCH_LATENCIES_MAX)
        latencies[latency_count++] = (float)us;
}

static int compare(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void tell(const struct bench_cell *c, const char *line)
{
    if (write(c->result_fd, line, strlen(line)) < 0)
        _exit(1);
}

int bench_continues(const struct bench_cell *c)
{
    char line[1024];
    double now = bench_now();
    if (started <= 0)
        started = now;
    if (now < started + WARM_UP_S + c->seconds)
        return 1;
    if (latency_count == 0)
        return 0;
    qsort(latencies, latency_count, sizeof(*latencies), compare);
    snprintf(line, sizeof(line), "%.0f %.0f %.0f\n",
             (double)latency_count / (now - started - WARM_UP_S),
             (double)latencies[latency_count / 2],
             (double)latencies[latency_count * 99 / 100]);
    tell(c, line);
    latency_count = 0;
    return 0;
}

void bench_report_leader(const struct bench_cell *c)
{
    char line[64];
    snprintf(line, sizeof(line), "%d\n", (int)getpid());
    tell(c, line);
}

static void read_line(int fd, char *line, size_t size)
{
    size_t len = 0;
    while (len + 1 < size && read(fd, line + len, 1) == 1 && line[len] != '\n')
        len++;
    line[len] = '\0';
}

/* Kill leader after leader; print how long each was missed. */
static void kill_leaders(int fd)
{
    char line[64];
    double killed;
    read_line(fd, line, sizeof(line));
    /* Let the others catch up, so that an election is all it takes. */
    nanosleep(&(struct timespec){1, 0}, NULL);
    killed = bench_now();
    kill((pid_t)strtol(line, NULL, 10), SIGKILL);
    read_line(fd, line, sizeof(line));
    printf("%.0f\n", (bench_now() - killed) * 1000);
}

int main(int argc, char **argv)
{
    struct bench_cell c = {0};
    int fds[2];
    char line[128];
    pid_t pids[BENCH_MEMBERS];
    if (argc < 3 || pipe(fds))
        return 2;
    c.directory = argv[1];
    c.in_flight =
        strcmp(argv[2], "kill") ? (unsigned)strtol(argv[2], NULL, 10) : 0;
    c.seconds = argc > 3 ? strtod(argv[3], NULL) : 2;
    c.result_fd = fds[1];
    for (unsigned i = 0; i < BENCH_MEMBERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            bench_serve(&c, i + 1);
            _exit(0);
        }
    }
    if (c.in_flight) {
        read_line(fds[0], line, sizeof(line));
        puts(line);
    } else {
        kill_leaders(fds[0]);
    }
    for (unsigned i = 0; i < BENCH_MEMBERS; i++)
        kill(pids[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
