/* The frame of both echo benchmarks: arguments, and the figures they print.
 *
 *     bench_rpc_NAME BYTES IN_FLIGHT CALLS
 *
 * Each forks its server, runs CALLS calls over one connection on loopback with
 * IN_FLIGHT of them under way, and prints "calls/s" and the CPU µs of a call,
 * of client and server together. */
#ifndef TESTS_BENCH_RPC_H
#define TESTS_BENCH_RPC_H

#include <stddef.h>
#include <stdint.h>

struct bench_rpc {
    size_t bytes;
    size_t in_flight;
    uint64_t calls;
    double start_s;
    double start_cpu_s;
};

void bench_rpc_parse(struct bench_rpc *b, int argc, char **argv);
void bench_rpc_begin(struct bench_rpc *b);
/* The client is done: end the server, process @server, and print. */
void bench_rpc_end(struct bench_rpc *b, int server);

#endif /* TESTS_BENCH_RPC_H */
