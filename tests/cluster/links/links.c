/* quarry-links: the switch between the hosts of a test, with bad cables.
 *
 *     quarry-links TAP…
 *
 * Makes a TAP device of each name, which the test moves into the network
 * namespaces of its hosts, and forwards Ethernet frames between them. Unlike
 * the kernel's traffic control, which not every machine has, it needs no module
 * but tun. Prints "ready", then answers each line of standard input with "ok":
 *
 *     link FROM TO LOSS DELAY JITTER
 *
 * Ports are numbered from 0 as named; "*" means all of them. LOSS is in frames
 * of a million (1000000 cuts that direction), DELAY and JITTER in microseconds.
 * A delayed link keeps the order of its frames. It ends with standard input, so
 * no switch outlives its test.
 *
 * Exit status: 0; 1 when a device cannot be made, which standard error says; 2
 * when used wrongly.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    PORTS_MAX = 16,
    FRAME_BYTES_MAX = 15400, /* More than the MTU that tests set. */
    MAC_BYTES = 6,
    LOSS_ALWAYS = 1000000,
};

/* Of one link; what comes when it is full is lost, as in any switch. */
#define QUEUE_BYTES_MAX ((size_t)16 << 20)

struct frame {
    struct frame *next;
    uint64_t due_us;
    size_t len;
    char bytes[];
};

/* One direction between two ports. */
struct link {
    uint32_t loss;
    uint32_t delay_us;
    uint32_t jitter_us;
    struct frame *first;
    struct frame **end;
    size_t queued_bytes;
    uint64_t last_due_us;
};

struct switch_state {
    int tap[PORTS_MAX];
    unsigned char mac[PORTS_MAX][MAC_BYTES]; /* Learned; zeros: unknown. */
    size_t port_count;
    struct link link[PORTS_MAX][PORTS_MAX];
    uint64_t random;
};

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Marsaglia's xorshift64. */
static uint32_t random_below(struct switch_state *s, uint32_t bound)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return bound ? (uint32_t)(s->random % bound) : 0;
}

static int open_tap(const char *name)
{
    struct ifreq request = {0};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || strlen(name) >= IFNAMSIZ)
        return -1;
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    memcpy(request.ifr_name, name, strlen(name));
    if (ioctl(fd, TUNSETIFF, &request) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* --- frames -------------------------------------------------------------- */

/* A device that is down, or whose queue is full, loses the frame. */
static void write_frame(int tap, const char *bytes, size_t len)
{
    ssize_t written = write(tap, bytes, len);
    (void)written;
}

static void enqueue_frame(struct switch_state *s,
                          struct link *l,
                          const char *bytes,
                          size_t len)
{
    struct frame *f;
    uint64_t due = now_us() + l->delay_us + random_below(s, l->jitter_us);
    if (l->queued_bytes + len > QUEUE_BYTES_MAX)
        return;
    f = malloc(sizeof(*f) + len);
    if (!f)
        return;
    memcpy(f->bytes, bytes, len);
    f->len = len;
    f->next = NULL;
    f->due_us = due > l->last_due_us ? due : l->last_due_us;
    l->last_due_us = f->due_us;
    l->queued_bytes += len;
    *l->end = f;
    l->end = &f->next;
}

static void send_frame(struct switch_state *s,
                       size_t from,
                       size_t to,
                       const char *bytes,
                       size_t len)
{
    struct link *l = &s->link[from][to];
    if (random_below(s, LOSS_ALWAYS) < l->loss)
        return;
    if (l->delay_us || l->jitter_us || l->first)
        enqueue_frame(s, l, bytes, len);
    else
        write_frame(s->tap[to], bytes, len);
}

static size_t port_of_mac(const struct switch_state *s, const char *mac)
{
    size_t i = 0;
    while (i < s->port_count && memcmp(s->mac[i], mac, MAC_BYTES) != 0)
        i++;
    return i;
}

static void forward_frame(struct switch_state *s,
                          size_t from,
                          const char *bytes,
                          size_t len)
{
    size_t to = port_of_mac(s, bytes);
    memcpy(s->mac[from], bytes + MAC_BYTES, MAC_BYTES);
    for (size_t i = 0; i < s->port_count; i++)
        if (i != from && (to == s->port_count || to == i))
            send_frame(s, from, i, bytes, len);
}

static void read_frames(struct switch_state *s, size_t from)
{
    char bytes[FRAME_BYTES_MAX];
    ssize_t len;
    for (int i = 0; i < 64; i++) {
        len = read(s->tap[from], bytes, sizeof(bytes));
        if (len < 2 * MAC_BYTES)
            return;
        forward_frame(s, from, bytes, (size_t)len);
    }
}

/* Send what is due; returns when the next frame is, UINT64_MAX: none waits. */
static uint64_t flush_link(struct switch_state *s, struct link *l, size_t to)
{
    uint64_t now = now_us();
    while (l->first && l->first->due_us <= now) {
        struct frame *f = l->first;
        l->first = f->next;
        if (!l->first)
            l->end = &l->first;
        l->queued_bytes -= f->len;
        write_frame(s->tap[to], f->bytes, f->len);
        free(f);
    }
    return l->first ? l->first->due_us : UINT64_MAX;
}

static uint64_t flush_links(struct switch_state *s)
{
    uint64_t next = UINT64_MAX;
    for (size_t a = 0; a < s->port_count; a++)
        for (size_t b = 0; b < s->port_count; b++) {
            uint64_t due = flush_link(s, &s->link[a][b], b);
            next = due < next ? due : next;
        }
    return next;
}

/* --- orders -------------------------------------------------------------- */

/* Does @text name port @port? */
static bool names_port(const char *text, size_t port)
{
    return strcmp(text, "*") == 0 || strtoul(text, NULL, 10) == port;
}

static void change_links(struct switch_state *s, const char *line)
{
    char from[16], to[16];
    unsigned loss, delay, jitter;
    if (sscanf(line, "link %15s %15s %u %u %u", from, to, &loss, &delay,
               &jitter) != 5) {
        fprintf(stderr, "quarry-links: unknown order: %s", line);
        exit(2);
    }
    for (size_t a = 0; a < s->port_count; a++)
        for (size_t b = 0; b < s->port_count; b++)
            if (names_port(from, a) && names_port(to, b)) {
                s->link[a][b].loss = loss;
                s->link[a][b].delay_us = delay;
                s->link[a][b].jitter_us = jitter;
            }
}

/* False at the end of standard input. */
static bool read_order(struct switch_state *s)
{
    char line[128];
    size_t len = 0;
    while (len + 1 < sizeof(line)) {
        ssize_t n = read(STDIN_FILENO, line + len, 1);
        if (n <= 0)
            return false;
        if (line[len++] == '\n')
            break;
    }
    line[len] = '\0';
    change_links(s, line);
    printf("ok\n");
    fflush(stdout);
    return true;
}

/* --- the whole ----------------------------------------------------------- */

static int poll_timeout_ms(uint64_t due_us)
{
    uint64_t now = now_us();
    if (due_us == UINT64_MAX)
        return -1;
    return due_us <= now ? 0 : (int)((due_us - now) / 1000) + 1;
}

static void run_switch(struct switch_state *s)
{
    struct pollfd polls[PORTS_MAX + 1];
    bool is_open = true;
    for (size_t i = 0; i < s->port_count; i++)
        polls[i] = (struct pollfd){.fd = s->tap[i], .events = POLLIN};
    polls[s->port_count] = (struct pollfd){.fd = 0, .events = POLLIN};
    while (is_open) {
        uint64_t due = flush_links(s);
        int n = poll(polls, s->port_count + 1, poll_timeout_ms(due));
        if (n < 0 && errno != EINTR)
            return;
        for (size_t i = 0; n > 0 && i < s->port_count; i++)
            if (polls[i].revents)
                read_frames(s, i);
        if (n > 0 && polls[s->port_count].revents)
            is_open = read_order(s);
    }
}

int main(int argc, char **argv)
{
    static struct switch_state s;
    if (argc < 2 || argc - 1 > PORTS_MAX) {
        fprintf(stderr, "quarry-links: expects 1 to %d names\n", PORTS_MAX);
        return 2;
    }
    s.random = now_us() | 1;
    s.port_count = (size_t)argc - 1;
    for (size_t i = 0; i < s.port_count; i++) {
        s.tap[i] = open_tap(argv[i + 1]);
        if (s.tap[i] < 0) {
            fprintf(stderr, "quarry-links: %s: %s\n", argv[i + 1],
                    strerror(errno));
            return 1;
        }
        for (size_t j = 0; j < PORTS_MAX; j++)
            s.link[i][j].end = &s.link[i][j].first;
    }
    printf("ready\n");
    fflush(stdout);
    run_switch(&s);
    return 0;
}
