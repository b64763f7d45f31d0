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
#include <sys/stat.h>
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

/* Of journald: sd-daemon(3). */
static const int priorities[] = {7, 6, 4, 3};

#define LEVEL_DEFAULT (-1)

static const struct {
    const char *name;
    const char *about;
} components[] = {

#define LOG_COMPONENT(name, about) {name, about},
#include "base/runtime/log_components.def"
#undef LOG_COMPONENT
};

/* Stands for all components in a change. */
#define COMPONENT_ALL ARRAY_LEN(components)
/* Parts of a text with changes, at most. */
#define CHANGES_MAX 64

struct logger {
    char *path; /* Owned; NULL: standard error. */
    bool is_journal;
    enum log_format format;
    log_request_fn request; /* NULL: there are none. */
    atomic_int least;
    atomic_int fd;
    atomic_int lowest;  /* Of all levels: nothing below it is written. */
    struct mutex mutex; /* Of changes of levels; reading takes none. */
    atomic_int levels[ARRAY_LEN(components)]; /* LEVEL_DEFAULT: `least`. */
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
    atomic_init(&l->least, (int)least);
    atomic_init(&l->lowest, (int)least);
    atomic_init(&l->fd, fd);
    for (size_t i = 0; i < ARRAY_LEN(components); i++)
        atomic_init(&l->levels[i], LEVEL_DEFAULT);
    mutex_init(&l->mutex);
    *out = l;
    return 0;
}

void logger_close(struct logger *l)
{
    if (!l)
        return;
    if (l->path)
        close(atomic_load(&l->fd));
    mutex_close(&l->mutex);
    mem_free(l->path);
    mem_free(l);
}

const char *logger_path(const struct logger *l)
{
    return l->path;
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

struct logger *world_logger(const struct world *w)
{
    return w->logger;
}

void logger_set_format(struct logger *l, enum log_format format)
{
    l->format = format;
}

void logger_find_journal(struct logger *l, const char *stream)
{
    unsigned long long device, inode;
    struct stat st;
    l->is_journal = stream && !l->path &&
                    sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
                    fstat(atomic_load(&l->fd), &st) == 0 &&
                    st.st_dev == device && st.st_ino == inode;
}

void logger_set_request(struct logger *l, log_request_fn request)
{
    l->request = request;
}

bool log_format_parse(struct slice text, enum log_format *out)
{
    bool json = slice_eq_str(text, "json");
    *out = json ? LOG_JSON : LOG_TEXT;
    return json || slice_eq_str(text, "text");
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

/* --- levels of components ------------------------------------------------ */

const char *log_component_name(size_t index, const char **about)
{
    if (index >= ARRAY_LEN(components))
        return NULL;
    *about = components[index].about;
    return components[index].name;
}

/* COMPONENT_ALL: there is none. */
static size_t component_find(struct slice name)
{
    size_t i = 0;
    while (i < ARRAY_LEN(components) && !slice_eq_str(name, components[i].name))
        i++;
    return i;
}

bool log_wants(const struct world *w,
               enum log_level level,
               const char *component)
{
    const struct logger *l = w->logger;
    int least;
    size_t c;
    if (!l)
        return w->ops->log_line != NULL;
    if ((int)level < atomic_load_explicit(&l->lowest, memory_order_relaxed))
        return false;
    c = component_find(slice_str(component));
    least = c == COMPONENT_ALL ? LEVEL_DEFAULT : atomic_load(&l->levels[c]);
    if (least == LEVEL_DEFAULT)
        least = atomic_load(&l->least);
    return (int)level >= least;
}

/* One "LEVEL" or "COMPONENT=LEVEL". */
struct level_change {
    size_t component; /* COMPONENT_ALL. */
    int level;
};

static int unknown_component(struct slice name, struct err *err)
{
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(components); i++)
        buf_printf(&names, "%s%s", i ? ", " : "", components[i].name);
    err_set(err, ERR_INVALID,
            "log level: there is no component \"%.*s\" (components: %s)",
            SLICE_ARG(slice_sub(name, 0, 32)), buf_cstr(&names));
    buf_close(&names);
    return ERR_INVALID;
}

static int
level_change_parse(struct slice text, struct level_change *out, struct err *err)
{
    size_t at = slice_find_byte(text, '=');
    bool named = at < text.len;
    struct slice level =
        named ? slice_trim(slice_sub(text, at + 1, text.len)) : text;
    struct slice name = slice_trim(slice_sub(text, 0, at));
    enum log_level parsed = LOG_LEVEL_INFO;
    *out = (struct level_change){COMPONENT_ALL, LEVEL_DEFAULT};
    if (named)
        out->component = component_find(name);
    if (named && out->component == COMPONENT_ALL)
        return unknown_component(name, err);
    if (named && slice_eq_str(level, "default"))
        return 0;
    if (!log_level_parse(level, &parsed))
        return err_set(err, ERR_INVALID,
                       "log level \"%.*s\": debug, info, warn or error%s",
                       SLICE_ARG(slice_sub(level, 0, 64)),
                       named ? ", or default" : "");
    out->level = (int)parsed;
    return 0;
}

static int levels_parse(struct slice text,
                        struct level_change changes[CHANGES_MAX],
                        size_t *count,
                        struct err *err)
{
    int rc = 0;
    *count = 0;
    do {
        size_t at = slice_find_byte(text, ',');
        struct slice one = slice_sub(text, 0, MIN_OF(at, text.len));
        if (*count == CHANGES_MAX)
            return err_set(err, ERR_INVALID, "log levels: more than %d",
                           CHANGES_MAX);
        rc = level_change_parse(slice_trim(one), &changes[(*count)++], err);
        text = slice_sub(text, MIN_OF(at + 1, text.len), text.len);
    } while (rc == 0 && text.len);
    return rc;
}

/* PRE: the lock is held. */
static void find_lowest(struct logger *l)
{
    int lowest = atomic_load(&l->least);
    for (size_t i = 0; i < ARRAY_LEN(components); i++) {
        int level = atomic_load(&l->levels[i]);
        if (level != LEVEL_DEFAULT)
            lowest = MIN_OF(lowest, level);
    }
    atomic_store(&l->lowest, lowest);
}

int logger_set_levels(struct logger *l, struct slice text, struct err *err)
{
    struct level_change changes[CHANGES_MAX];
    size_t count;
    int rc = levels_parse(text, changes, &count, err);
    if (rc)
        return rc;
    mutex_lock(&l->mutex);
    for (size_t i = 0; i < count; i++) {
        const struct level_change *c = &changes[i];
        atomic_store(c->component == COMPONENT_ALL ? &l->least
                                                   : &l->levels[c->component],
                     c->level);
    }
    find_lowest(l);
    mutex_unlock(&l->mutex);
    return 0;
}

static void put_lower(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_append_byte(out, *text | 0x20);
}

void logger_print_levels(const struct logger *l, struct buf *out)
{
    put_lower(out, level_names[atomic_load(&l->least)]);
    for (size_t i = 0; i < ARRAY_LEN(components); i++) {
        int level = atomic_load(&l->levels[i]);
        if (level == LEVEL_DEFAULT)
            continue;
        buf_printf(out, ",%s=", components[i].name);
        put_lower(out, level_names[level]);
    }
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

struct log_line {
    enum log_level level;
    const char *component;
    const char *message;
    char request[LOG_REQUEST_BYTES]; /* "": none. */
};

static void put_field(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    text_put_json(out, slice_str(text));
}

static void
put_json_line(struct world *w, const struct log_line *x, struct buf *out)
{
    struct buf level = BUF_INIT;
    buf_append_str(out, "{\"time\":\"");
    text_put_time(out, (int64_t)world_now_us(w));
    buf_append_byte(out, '"');
    put_lower(&level, level_names[x->level]);
    put_field(out, "level", buf_cstr(&level));
    buf_close(&level);
    put_field(out, "component", x->component);
    if (*x->request)
        put_field(out, "request", x->request);
    put_field(out, "message", x->message);
    buf_append_str(out, "}\n");
}

static void
put_text_line(struct world *w, const struct log_line *x, struct buf *out)
{
    if (!w->logger->is_journal) {
        text_put_time(out, (int64_t)world_now_us(w));
        buf_append_byte(out, ' ');
    }
    buf_printf(out, "%s %s %s", level_names[x->level], x->component,
               x->message);
    if (*x->request)
        buf_printf(out, " request=%s", x->request);
    buf_append_byte(out, '\n');
}

static void write_line(struct world *w, const struct log_line *x)
{
    struct logger *l = w->logger;
    struct buf b = BUF_INIT;
    ssize_t n;
    if (l->is_journal)
        buf_printf(&b, "<%d>", priorities[x->level]);
    if (l->format == LOG_JSON)
        put_json_line(w, x, &b);
    else
        put_text_line(w, x, &b);
    do {
        n = write(atomic_load(&l->fd), b.data, b.len);
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
    char message[LOG_LINE_BYTES];
    char line[LOG_LINE_BYTES + 64];
    va_list ap;
    if (!log_wants(w, level, component))
        return;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof(raw), fmt, ap);
    va_end(ap);
    message[put_safely(message, sizeof(message) - 1, raw)] = '\0';
    if (w->logger) {
        struct log_line x = {level, component, message, ""};
        if (w->logger->request)
            x.request[w->logger->request(x.request)] = '\0';
        write_line(w, &x);
        return;
    }
    snprintf(line, sizeof(line), "%s %s %s", level_names[level], component,
             message);
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
