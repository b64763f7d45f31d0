/* A robots.txt, as far as it concerns one robot: RFC 9309.
 *
 *     User-agent: archiver
 *     Disallow: /private/
 *     Allow: /private/press
 *
 * The groups that name the robot count, or, if none does, those of "*". Of the
 * rules that fit a path the longest decides, and of two as long the one that
 * allows. "*" in a rule stands for any text, "$" at its end for the path's end.
 * Other lines are skipped, as are bytes beyond
 * ROBOTS_BYTES_MAX.
 *
 * Pure. Threads: immutable once read; any.
 */
#ifndef WEB_POLICY_ROBOTS_RULES_H
#define WEB_POLICY_ROBOTS_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

/* RFC 9309, 2.5, asks a reader to read this much at least. */
#define ROBOTS_BYTES_MAX ((size_t)500 << 10)

struct arena;

struct robots_rule {
    bool is_allowed;
    struct slice pattern;
};

struct robots_rules {
    struct robots_rule *at;
    size_t count;
};

/* The rules of @text for the robot @agent, a product token ("archiver"), in any
 * case. They are in @arena, which then also owns their text. */
void robots_rules_read(struct slice text,
                       const char *agent,
                       struct arena *arena,
                       struct robots_rules *out);

/* May the robot fetch @path ("/a?b")? It may where no rule fits. The work is at
 * most the path's length times the rules' length. */
bool robots_rules_allow(const struct robots_rules *rules, struct slice path);

#endif /* WEB_POLICY_ROBOTS_RULES_H */
