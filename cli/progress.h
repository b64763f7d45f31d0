/* How far long work has come, on standard error.
 *
 * On a terminal: one line that is redrawn a few times a second, with a bar, the
 * rate and the time left. Elsewhere: a line every ten seconds, for logs. Work
 * that ends within a second shows nothing.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli;
struct world;

struct progress {
    struct world *world; /* Borrowed. */
    const char *what;    /* Borrowed: "import". */
    bool on;             /* False with --quiet. */
    bool terminal;
    bool drawn; /* A bar stands on the terminal's line. */
    uint64_t started_ns;
    uint64_t shown_ns;
};

void progress_start(struct progress *p,
                    const struct cli *cli,
                    const char *what);

/* @done of @total (0: not known) bytes so far; @extra, a short remark such as
 * "4,768 records", may be NULL. Cheap: draws only when it is time to. */
void progress_bytes(struct progress *p,
                    uint64_t done,
                    uint64_t total,
                    const char *extra);
/* The same in parts per thousand of a job whose unit is no bytes. */
void progress_share(struct progress *p, unsigned permille, const char *extra);

/* Remove the bar, before the result or an error is printed. */
void progress_end(struct progress *p);
double progress_seconds(const struct progress *p);

#endif /* CLI_PROGRESS_H */
