/* A job that copies its input, and on request tries what is not its own: the
 * keys in its memory, the network, and each question that could be put on the
 * socket by which its worker lends it files and rows.
 *
 * Parameters: misuse, what to aim at: another's file; secret, hexadecimal, each
 * byte XOR 0x5a so that it is not itself in memory; port, of the cluster.
 */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bigtable/row/cells.h"
#include "mapreduce/mapreduce.h"

#define SECRET_BYTES_MAX 64
#define MASK             0x5a
/* Of sanitizers, reserved and hardly used. */
#define MAPPING_BYTES_MAX ((uintptr_t)1 << 30)

/* --- memory -------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)
#define ANY_MEMORY __attribute__((no_sanitize("address", "undefined")))
#else
#define ANY_MEMORY
#endif

struct secret {
    unsigned char masked[SECRET_BYTES_MAX];
    size_t len;
};

static void read_secret(const char *hex, struct secret *out)
{
    unsigned byte = 0;
    out->len = 0;
    while (out->len < SECRET_BYTES_MAX &&
           sscanf(hex + 2 * out->len, "%2x", &byte) == 1)
        out->masked[out->len++] = (unsigned char)byte;
}

ANY_MEMORY static bool is_at(const volatile unsigned char *p,
                             const struct secret *s)
{
    for (size_t i = 0; i < s->len; i++)
        if ((p[i] ^ MASK) != s->masked[i])
            return false;
    return true;
}

ANY_MEMORY static bool
is_between(uintptr_t begin, uintptr_t end, const struct secret *s)
{
    for (uintptr_t at = begin; at + s->len <= end; at++)
        if (is_at((const volatile unsigned char *)at, s))
            return true;
    return false;
}

/* Is the secret anywhere in this process? */
static bool is_in_memory(const struct secret *s)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return true;
    while (!found && fgets(line, sizeof(line), maps)) {
        uintptr_t begin;
        uintptr_t end;
        char read;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c", &begin, &end, &read) ==
                3 &&
            read == 'r' && end - begin <= MAPPING_BYTES_MAX &&
            !strstr(line, "[v"))
            found = is_between(begin, end, s);
    }
    fclose(maps);
    return found;
}

/* --- the socket of what is proxied --------------------------------------- */

static int find_socket(void)
{
    for (int fd = STDERR_FILENO + 1; fd < 4096; fd++) {
        int type = 0;
        socklen_t len = sizeof(type);
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
            type == SOCK_SEQPACKET)
            return fd;
    }
    return -1;
}

struct question {
    unsigned char bytes[2048];
    size_t len;
};

#define ID 0x7171717171717171

static void put(struct question *q, const void *p, size_t len)
{
    memcpy(q->bytes + q->len, p, len);
    q->len += len;
}

static void put_varint(struct question *q, uint64_t v)
{
    unsigned char byte;
    while (v >= 0x80) {
        byte = (unsigned char)(v | 0x80);
        put(q, &byte, 1);
        v >>= 7;
    }
    byte = (unsigned char)v;
    put(q, &byte, 1);
}

static void put_text(struct question *q, const char *text)
{
    put_varint(q, strlen(text));
    put(q, text, strlen(text));
}

static void begin(struct question *q, unsigned char op, const char *path)
{
    const uint64_t id = ID;
    q->len = 0;
    put(q, &op, 1);
    put(q, &id, sizeof(id));
    if (path)
        put_text(q, path);
}

/* Was it done? Anything but an answer that says so is a refusal. */
static bool is_done(int fd, const struct question *q)
{
    static unsigned char answer[70000];
    const uint64_t id = ID;
    if (send(fd, q->bytes, q->len, MSG_NOSIGNAL) < 0)
        return false;
    for (;;) {
        ssize_t n = recv(fd, answer, sizeof(answer), 0);
        if (n <= 0)
            return false;
        if (n >= 9 && memcmp(answer, &id, sizeof(id)) == 0)
            return answer[8] == 0;
        if (n >= 8 && memcmp(answer, "\0\0\0\0\0\0\0\0", 8) == 0)
            return false; /* To a message without an id. */
    }
}

static struct mr_output *out;

static void tell(const char *what, bool done)
{
    mr_write(out, slice_str(what), slice_str(done ? "done" : "refused"));
}

/* Every question about the file @path, each under the name of its op. */
static void try_file(int fd, const char *who, const char *path)
{
    static const char *const ops[] = {
        NULL, "open",   "read",   "put",  "create", NULL,       NULL,      NULL,
        NULL, "rename", "remove", "stat", "list",   "sync_dir", "prefetch"};
    struct question q;
    char what[128];
    for (unsigned op = 1; op < sizeof(ops) / sizeof(ops[0]); op++) {
        if (!ops[op])
            continue;
        begin(&q, (unsigned char)op, path);
        if (op == 9)
            put_text(&q, "stolen");
        else
            for (int i = 0; i < 4; i++)
                put_varint(&q, op == 2 ? 1 : 0);
        snprintf(what, sizeof(what), "%s %s", who, ops[op]);
        tell(what, is_done(fd, &q));
    }
}

/* Frames of the cluster's own protocol, and what else is none. */
static void try_frames(int fd)
{
    static const char *const frames[] = {
        "\x51\x52\x50\x43\x01\x00\x00\x00 act_as=quarry chunk.delete",
        "\x83\xa6method\xaetablet.execute\xa6"
        "act_as\xa6quarry",
        "{\"method\":\"namenode.execute\",\"act_as\":\"quarry\"}",
    };
    struct question q;
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        q.len = 0;
        put(&q, frames[i], strlen(frames[i]));
        if (q.len > 9)
            memcpy(q.bytes + 1, &(uint64_t){ID}, sizeof(uint64_t));
        tell("frame of the cluster", is_done(fd, &q));
    }
    for (unsigned op = 15; op < 256; op++) {
        if (op == 65) /* The next rows of the attempt's own split. */
            continue;
        begin(&q, (unsigned char)op, NULL);
        put_varint(&q, 1000);
        put_text(&q, "quarry");
        if (is_done(fd, &q))
            tell("unknown question", true);
    }
    begin(&q, 5, ""); /* Append to what is not open. */
    put_varint(&q, 77);
    put_text(&q, "x");
    tell("another's handle", is_done(fd, &q));
}

static bool can_reach(const char *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)atoi(port)),
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool reached = false;
    if (fd >= 0) {
        reached = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
        close(fd);
    }
    return reached;
}

static void misuse(const struct mr_task *t, const char *aim)
{
    struct timeval patience = {.tv_sec = 20};
    struct secret secret;
    int fd = find_socket();
    out = mr_output((struct mr_task *)(uintptr_t)t, NULL);
    if (mr_param(t, "secret")) {
        read_secret(mr_param(t, "secret"), &secret);
        tell("key in memory", is_in_memory(&secret));
    }
    if (mr_param(t, "port"))
        tell("network", can_reach(mr_param(t, "port")));
    tell("socket", fd >= 0);
    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    try_file(fd, "another's", aim);
    try_file(fd, "servers'", "bigtable/tables");
    try_file(fd, "jobs'", "mapreduce/jobs");
    try_file(fd, "root", "");
    try_frames(fd);
}

/* --- copying ------------------------------------------------------------- */

static void copy_row(struct mr_output *to, const struct quarry_row *row)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (mr_output_is_table(to))
            mr_put(to, row->key, "copy", c->qualifier, MR_JOB_TIME, c->value);
        else
            mr_write(to, row->key, c->value);
    }
}

static int map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    struct mr_output *to = mr_output(t, NULL);
    (void)err;
    if (mr_param(t, "misuse") && r->number == 0)
        misuse(t, mr_param(t, "misuse"));
    else if (r->row)
        copy_row(to, r->row);
    else if (mr_output_is_table(to))
        mr_put(to, r->value, "copy", SLICE_LIT("line"), MR_JOB_TIME, r->value);
    else
        mr_write(to, SLICE_EMPTY, r->value);
    return 0;
}

static const struct mr_job fs_proxy_job = {.abi_version = MR_ABI_VERSION,
                                           .name = "fs_proxy",
                                           .map = map,
                                           .any_params = true};
MAPREDUCE_JOB(fs_proxy_job);
