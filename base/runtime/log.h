/* The log of a process: one line per event, for people and for grep.
 *
 *     2026-01-31T09:00:00.123456Z WARN rpc refused peer=10.0.0.7 why="wrong
 *     cluster"
 *
 * A logger belongs to a world, because there are no globals and many simulated
 * machines share a process. A world without one keeps nothing; a simulated
 * machine's lines go to the trace.
 *
 * Threads: any.
 */
#ifndef BASE_RUNTIME_LOG_H
#define BASE_RUNTIME_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct logger;
struct world;

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARN,
    LOG_LEVEL_ERROR,
};

/* Log lines of level @least or above, as text, appended to the file @path, or
 * to standard error when it is NULL. *@out is owned. Errors: those of
 * open(2). */
MUST_CHECK int logger_open(const char *path,
                           enum log_level least,
                           struct logger **out,
                           struct err *err);
void logger_close(struct logger *l); /* NULL is allowed. */
/* Its file, NULL: standard error. Borrowed. */
const char *logger_path(const struct logger *l);
/* Open the file again after it was renamed. */
void logger_reopen(struct logger *l);

enum log_format {
    LOG_TEXT, /* "<time> <LEVEL> <component> <message>" */
    LOG_JSON, /* {"time":"…","level":"info","component":"…","message":"…"} */
};

/* "text" or "json"; false for anything else. */
bool log_format_parse(struct slice text, enum log_format *out);
/* Before other threads use it. */
void logger_set_format(struct logger *l, enum log_format format);

/* Where standard error is systemd's journal, which has the time itself, lines
 * begin with their priority ("<6>"), and text lines have no time. @stream: the
 * value of $JOURNAL_STREAM, which says which file the journal is; NULL: none.
 * Before other threads use it. */
void logger_find_journal(struct logger *l, const char *stream);

/* The name of the @index-th component (log_components.def); *@about: what its
 * lines are about. NULL at the end. Literals. */
const char *log_component_name(size_t index, const char **about);

/* Change levels as @text says: "LEVEL" of all that have none of their own,
 * "COMPONENT=LEVEL" of one, "COMPONENT=default" like all; several with commas,
 * of which a later one counts more. All or none. Any thread. ERR_INVALID names
 * the components there are. */
MUST_CHECK int
logger_set_levels(struct logger *l, struct slice text, struct err *err);
/* Append them in that form: "info,rpc=debug". Any thread. */
void logger_print_levels(const struct logger *l, struct buf *out);

/* Write the id of what the caller works for, and return its length: less than
 * LOG_REQUEST_BYTES, 0: it has none. */
#define LOG_REQUEST_BYTES 40
typedef size_t (*log_request_fn)(char *out);

/* Lines have, as request=…, the id that @request writes then: that of the trace
 * that the caller works for. Before other threads use it. NULL: none do. */
void logger_set_request(struct logger *l, log_request_fn request);

/* The logger of @w; NULL: none. Borrowed. */
struct logger *world_logger(const struct world *w);
/* Make @w log to @l (borrowed), or nowhere when it is NULL. Call it once,
 * before other threads use @w. */
void world_set_logger(struct world *w, struct logger *l);

/* "debug", "info", "warn" or "error"; false for anything else. */
bool log_level_parse(struct slice text, enum log_level *out);

/* Write "<time> <LEVEL> <component> <message>" and a line feed, cut at
 * LOG_LINE_BYTES, by one system call. Bytes that are not printable are
 * escaped, so that hostile text stays within its line. Does not park. */
void log_write(struct world *w,
               enum log_level level,
               const char *component,
               const char *fmt,
               ...) PRINTF_LIKE(4, 5);

#define LOG_LINE_BYTES 1024

/* Would a line of @level and @component be written? Any thread. */
bool log_wants(const struct world *w,
               enum log_level level,
               const char *component);

/* Arguments are evaluated only for a line that is written: one that is not
 * costs a comparison or two. @w is evaluated twice. */
#define log_at(w, level, component, ...)                                       \
    (log_wants(w, level, component)                                            \
         ? log_write(w, level, component, __VA_ARGS__)                         \
         : (void)0)

#define log_debug(w, c, ...) log_at(w, LOG_LEVEL_DEBUG, c, __VA_ARGS__)
#define log_info(w, c, ...)  log_at(w, LOG_LEVEL_INFO, c, __VA_ARGS__)
#define log_warn(w, c, ...)  log_at(w, LOG_LEVEL_WARN, c, __VA_ARGS__)
#define log_error(w, c, ...) log_at(w, LOG_LEVEL_ERROR, c, __VA_ARGS__)

/* --- limited lines ------------------------------------------------------- */

struct log_limiter;

/* Admits each key once per @period_us, and counts the lines held back. */
struct log_limiter *log_limiter_new(struct world *w, uint64_t period_us);
/* NULL is allowed. */
void log_limiter_free(struct log_limiter *l);
/* True if a line about @key may be written now; *@held_back is then how many
 * were held back since the last one. Any thread. */
bool log_limiter_pass(struct log_limiter *l,
                      struct slice key,
                      uint64_t *held_back);

#endif /* BASE_RUNTIME_LOG_H */
