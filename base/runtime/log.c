/* Log lines, and the limiter that keeps a repeated one from flooding. A line
 * is formatted on the caller's stack and written by one write(2) to a file
 * opened with O_APPEND, so that threads need no lock and lines never mix. */
#define _POSIX_C_SOURCE 200809L

#include "base/runtime/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/sync.h"
#include "base/runtime/world_ops.h"

/* Keys a limiter remembers. Keys may come from peers, so the number is bounded:
 * a full limiter forgets them all.
 */
#define LIMITER_KEYS_MAX 4096

static const char *const level_names[] = {"DEBUG", "INFO", "WARN", "ERROR"};

struct logger {
    char *path; /* Owned; NULL: standard error. */
    enum log_level least;
    atomic_int fd;
};

/* --- the file ------------------------------------------------------------ */

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

int logger_open(const char *path,
                enum log_level least,
                struct logger **out,
                struct err *err)
{
    struct logger *l;
    int fd = path ? open_file(path) : STDERR_FILENO;
    *out = NULL;
    if (fd < 0)
        return err_set_errno(err, errno, "log file %s", path);
    l = mem_zalloc(1, sizeof(*l));
    l->path = path ? mem_strdup(path) : NULL;
    l->least = least;
    atomic_init(&l->fd, fd);
    *out = l;
    return 0;
}

void logger_close(struct logger *l)
{
    if (!l)
        return;
    if (l->path)
        close(atomic_load(&l->fd));
    mem_free(l->path);
    mem_free(l);
}

/* Other threads may be writing, so the descriptor's number stays and dup2()
 * replaces the file that it refers to. */
void logger_reopen(struct logger *l)
{
    int fd = l->path ? open_file(l->path) : -1;
    if (fd < 0)
        return;
    (void)dup2(fd, atomic_load(&l->fd));
    close(fd);
}

void world_set_logger(struct world *w, struct logger *l)
{
    w->logger = l;
}

bool log_level_parse(struct slice text, enum log_level *out)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
        size_t at = 0;
        while (at < text.len && level_names[i][at] &&
               (text.data[at] | 0x20) == (level_names[i][at] | 0x20))
            at++;
        if (at == text.len && !level_names[i][at]) {
            *out = (enum log_level)i;
            return true;
        }
    }
    return false;
}

/* --- lines --------------------------------------------------------------- */

/* Copy @from to @out, at most @room bytes, with bytes that are not printable
 * as \xHH. Bytes over 0x7f are left: names of any script are printed. */
static size_t put_safely(char *out, size_t room, const char *from)
{
    static const char digits[] = "0123456789abcdef";
    size_t len = 0;
    for (; *from && len + 4 <= room; from++) {
        unsigned char c = (unsigned char)*from;
        if (c >= 0x20 && c != 0x7f) {
            out[len++] = (char)c;
            continue;
        }
        out[len++] = '\\';
        out[len++] = 'x';
        out[len++] = digits[c >> 4];
        out[len++] = digits[c & 15];
    }
    return len;
}

static void write_line(struct world *w, const char *line)
{
    struct buf b = BUF_INIT;
    ssize_t n;
    text_put_time(&b, (int64_t)world_now_us(w));
    buf_printf(&b, " %s\n", line);
    do {
        n = write(atomic_load(&w->logger->fd), b.data, b.len);
    } while (n < 0 && errno == EINTR);
    buf_close(&b);
}

void log_write(struct world *w,
               enum log_level level,
               const char *component,
               const char *fmt,
               ...)
{
    char raw[LOG_LINE_BYTES];
    char line[LOG_LINE_BYTES];
    size_t len;
    va_list ap;
    if (w->logger ? level < w->logger->least : !w->ops->log_line)
        return;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof(raw), fmt, ap);
    va_end(ap);
    snprintf(line, sizeof(line), "%s %s ", level_names[level], component);
    len = strlen(line);
    len += put_safely(line + len, sizeof(line) - len - 1, raw);
    line[len] = '\0';
    if (w->logger)
        write_line(w, line);
    else
        w->ops->log_line(w, line);
}

/* --- limited lines ------------------------------------------------------- */

struct log_limiter {
    struct world *world;
    uint64_t period_us;
    struct mutex mutex;  /* Guards the map. */
    struct hash_map map; /* Key to struct seen. */
};

struct seen {
    uint64_t at_us; /* When it was last admitted. */
    uint64_t held_back;
};

struct log_limiter *log_limiter_new(struct world *w, uint64_t period_us)
{
    struct log_limiter *l = mem_zalloc(1, sizeof(*l));
    l->world = w;
    l->period_us = period_us;
    mutex_init(&l->mutex);
    hash_map_init(&l->map, HASH_KEYS_COPIED);
    return l;
}

static void forget_all(struct log_limiter *l)
{
    size_t at = 0;
    struct hash_slot *s;
    while ((s = hash_map_next(&l->map, &at)))
        mem_free(s->value.pointer);
    hash_map_clear(&l->map);
}

void log_limiter_free(struct log_limiter *l)
{
    if (!l)
        return;
    forget_all(l);
    hash_map_close(&l->map);
    mutex_close(&l->mutex);
    mem_free(l);
}

static struct seen *
log_limiter_find(struct log_limiter *l, struct slice key, bool *added)
{
    union hash_value *v;
    if (l->map.count >= LIMITER_KEYS_MAX && !hash_map_get(&l->map, key))
        forget_all(l);
    v = hash_map_put(&l->map, key, added);
    if (*added)
        v->pointer = mem_zalloc(1, sizeof(struct seen));
    return v->pointer;
}

bool log_limiter_pass(struct log_limiter *l,
                      struct slice key,
                      uint64_t *held_back)
{
    uint64_t now = world_mono_ns(l->world) / 1000;
    struct seen *s;
    bool pass;
    mutex_lock(&l->mutex);
    s = log_limiter_find(l, key, &pass);
    pass = pass || now - s->at_us >= l->period_us;
    *held_back = s->held_back;
    s->held_back++;
    if (pass)
        *s = (struct seen){.at_us = now};
    mutex_unlock(&l->mutex);
    return pass;
}
