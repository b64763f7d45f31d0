/* The leader of the lock service, seen from outside: every server is asked
 * again and again, and a line is printed when one says that it leads a term
 * which nobody was seen to lead. */
#define _GNU_SOURCE
#include <string.h>

#include "base/core/buf.h"
#include "base/core/text.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "tests/cluster/storm/storm.h"

/* The method of `quarry server` that says its state: cli/server_host.h. */
#define SERVER_STATUS 0x101
#define ASK_EVERY_US  5000
#define ASK_US        200000

struct watch {
    struct storm *storm;
    uint64_t term; /* Newest that was seen to be led. */
};

struct watcher {
    struct watch *watch;
    const char *address;
};

/* Where @part begins in @line; its length: nowhere. */
static size_t find(struct slice line, const char *part)
{
    const char *at = memmem(line.data, line.len, part, strlen(part));
    return at ? (size_t)(at - line.data) : line.len;
}

/* The number behind " term="; false if there is none. */
static bool find_term(struct slice line, uint64_t *out)
{
    size_t at = find(line, " term=");
    struct slice rest = slice_sub(line, at + strlen(" term="), line.len);
    rest = slice_sub(rest, 0, slice_find_byte(rest, ' '));
    return text_parse_u64(rest, out, NULL) == 0;
}

static void look_at(struct watcher *me, struct slice text)
{
    struct watch *w = me->watch;
    while (text.len) {
        size_t end = slice_find_byte(text, '\n');
        struct slice line = slice_sub(text, 0, end);
        uint64_t term;
        text = slice_sub(text, end + 1, text.len);
        if (!slice_starts_with(line, SLICE_LIT("lock: ")) ||
            find(line, " state=leader ") == line.len ||
            !find_term(line, &term) || term <= w->term)
            continue;
        w->term = term;
        printf("%" PRIu64 " %s %" PRIu64 "\n", storm_now_us(w->storm),
               me->address, term);
        fflush(stdout);
    }
}

static void ask(void *arg)
{
    struct watcher *me = arg;
    struct storm *s = me->watch->storm;
    struct rpc_channel_options o = {.security = s->security,
                                    .connect_timeout_us = ASK_US,
                                    .backoff_max_us = ASK_EVERY_US,
                                    .backoff_min_us = ASK_EVERY_US};
    struct rpc_call_options call = {.timeout_us = ASK_US};
    struct rpc_channel *c = rpc_channel_new(me->address, &o);
    while (storm_goes_on()) {
        struct buf body = BUF_INIT;
        if (rpc_call(c, SERVER_STATUS, &call, SLICE_EMPTY, SLICE_EMPTY, &body,
                     NULL, NULL) == 0) {
            struct codec_reader r = codec_reader_make(buf_slice(&body));
            (void)codec_get_array(&r);
            look_at(me, codec_get_bytes(&r));
        }
        buf_close(&body);
        storm_sleep_us(s, ASK_EVERY_US);
    }
    rpc_channel_free(c);
}

void storm_watch(struct storm *s)
{
    struct watch w = {.storm = s};
    struct watcher watchers[STORM_SERVERS_MAX];
    struct fiber *fibers[STORM_SERVERS_MAX];
    for (size_t i = 0; i < s->server_count; i++) {
        watchers[i] = (struct watcher){&w, s->servers[i]};
        fibers[i] = fiber_start(loop_self(), "watch", ask, &watchers[i]);
    }
    for (size_t i = 0; i < s->server_count; i++)
        fiber_join(fibers[i]);
}
