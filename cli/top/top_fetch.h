/* Documents for `quarry top`, fetched beside the screen: a thread asks the
 * cluster, or opens it again while nobody answers, and keys never wait.
 *
 * Threads: any one may call; the fetcher has its own.
 */
#ifndef CLI_TOP_TOP_FETCH_H
#define CLI_TOP_TOP_FETCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/top/top_view.h"

struct args;
struct cli;
struct top_fetch;

/* The document to ask for, and how often. */
struct top_wish {
    enum top_view_id view;
    const char *params[TOP_PARAMS_MAX]; /* Borrowed for the call. */
    uint64_t place_number;
    uint64_t delay_us;
    bool is_paused;
};

struct top_answer {
    json_t *overview; /* Owned; NULL: not known. */
    json_t *document; /* Owned; NULL: `failure` says why. */
    char failure[512];
    uint64_t place_number; /* Of the wish. */
};

/* Begin. @cli and @args are borrowed. Owned. */
struct top_fetch *top_fetch_start(struct cli *cli, const struct args *args);
/* From now on @wish is asked for; at once if its place is another one. */
void top_fetch_wish(struct top_fetch *f, const struct top_wish *wish);
/* The newest answer, if there was none given out since. Never waits. The
 * caller closes it. */
bool top_fetch_take(struct top_fetch *f, struct top_answer *out);
void top_answer_close(struct top_answer *a);
/* End. True: the thread has ended within @us, and all is freed. False: it
 * waits for a node; then only the end of the process is left. */
bool top_fetch_stop(struct top_fetch *f, uint64_t us);

/* Ask for one view on the calling thread. Parks. Errors:
 * those of remote_run() and monitor_make(). */
MUST_CHECK int top_fetch_once(struct cli *cli,
                              const struct args *args,
                              const struct top_wish *wish,
                              struct top_answer *out,
                              struct err *err);

#endif /* CLI_TOP_TOP_FETCH_H */
