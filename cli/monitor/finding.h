/* Findings: what is wrong with a cluster or soon will be, in plain words, with
 * what to do. Rules draw them from facts; finding_rules.def has a line for each
 * rule, and the table in docs/doctor.md is made from it.
 *
 * A rule is a pure function. Its findings are told apart by the
 * rule's id and the finding's subject ("node n3", "table web"): the memory
 * remembers since when each has been so. A condition that comes and goes counts
 * as one while it is away for no longer than FINDING_GAP_US. One whose rule has
 * a hold is told when it has lasted that long, and at once if it was there when
 * somebody began to look: nobody knows for how long already.
 *
 * Threads: one at a time.
 */
#ifndef CLI_MONITOR_FINDING_H
#define CLI_MONITOR_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/macros.h"
#include "cli/monitor/finding_facts.h"

struct buf;
struct finding_list;
struct finding_memory;

#define FINDING_GAP_US UINT64_C(60000000)

enum finding_severity {
    FINDING_NOTE,    /* Worth knowing; nothing has to be done soon. */
    FINDING_WARNING, /* It will fail, or is slower or less safe than it should
                        be. */
    FINDING_FAILURE, /* Something does not work, or data may be lost. */
};

/* A line of finding_rules.def. */
struct finding_rule {
    const char *id;
    uint32_t hold_s;    /* The condition must have lasted so long. */
    const char *when;   /* The condition in words. */
    const char *remedy; /* Of a finding that does not know better. */
    const char *link;   /* The console's page about it. */
    void (*look)(const struct finding_facts *f, struct finding_list *out);
};

/* All texts are in the list's arena or constants. */
struct finding {
    const struct finding_rule *rule;
    enum finding_severity severity;
    const char *subject;
    const char *sentence;
    const char *remedy;
    const char *link;
    uint64_t since_at_us;
};

struct finding_list {
    struct finding *at; /* Owned. Failures first, then warnings; of those the
                           oldest first. */
    size_t count;
    size_t cap;
    struct arena arena;
};

/* All rules, in the table's order. *@count: how many. Borrowed for ever. */
const struct finding_rule *finding_rules(size_t *count);

struct finding_memory *finding_memory_new(void);    /* Owned. */
void finding_memory_free(struct finding_memory *m); /* NULL is allowed. */

/* Let all rules look at @f. Facts of one moment after the other are to be given
 * to one
 * @memory. The caller closes *@out. */
void findings_draw(const struct finding_facts *f,
                   struct finding_memory *memory,
                   struct finding_list *out);
void finding_list_close(struct finding_list *l);

/* "note", "warning" or "failure". */
const char *finding_severity_name(enum finding_severity s);
/* How many of @l have severity @s. */
size_t findings_count(const struct finding_list *l, enum finding_severity s);
/* "well", "warning" or "failing". */
const char *findings_state(const struct finding_list *l);
/* Append the sentence over all: how the cluster is, and what ails it most. */
void findings_put_sentence(const struct finding_list *l,
                           const struct finding_facts *f,
                           struct buf *out);

/* --- for rules ----------------------------------------------------------- */

/* Add a finding about a subject. Borrowed until the next one is added. */
struct finding *finding_add(struct finding_list *l,
                            enum finding_severity severity,
                            const char *subject_fmt,
                            ...) PRINTF_LIKE(3, 4);
/* Its sentence: capital letter, figures, full stop. */
void finding_say(struct finding_list *l, const char *fmt, ...)
    PRINTF_LIKE(2, 3);
/* Instead of the rule's. */
void finding_remedy(struct finding_list *l, const char *fmt, ...)
    PRINTF_LIKE(2, 3);
void finding_link(struct finding_list *l, const char *fmt, ...)
    PRINTF_LIKE(2, 3);
/* To the page of @n. */
void finding_link_node(struct finding_list *l, const struct fact_node *n);

/* Texts in the arena of @l: "1.5 GiB", "2m05s", "1,234", "12:04:10Z" with its
 * date where that is not @f's. */
const char *finding_bytes(struct finding_list *l, double bytes);
const char *finding_duration(struct finding_list *l, double seconds);
const char *finding_number(struct finding_list *l, double n);
const char *finding_time(struct finding_list *l,
                         const struct finding_facts *f,
                         uint64_t at_us);

#define RULE(id, hold_s, when, remedy, link)                                   \
    void rule_##id(const struct finding_facts *f, struct finding_list *out);
#include "cli/monitor/finding_rules.def"
#undef RULE

#endif /* CLI_MONITOR_FINDING_H */
