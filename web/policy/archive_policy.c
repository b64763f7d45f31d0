/* A rule is a beginning of SURTs, and where it must end; all rules of one
 * beginning are a chain in a map. A capture is looked up by each beginning of
 * its own SURT, the longest first, so that the cost does not depend on the
 * number of rules. */
#include "web/policy/archive_policy.h"

#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/surt.h"
#include "mapreduce/warc/url.h"
#include "web/policy/robots_rules.h"

#define REASON_DEFAULT "it is not shown here"
#define REASON_ROBOTS                                                          \
    "the site's robots.txt, as it was archived, asks robots not to fetch it"
#define REASON_NOARCHIVE "the page asks archives not to keep it (noarchive)"

enum policy_match {
    POLICY_EXACT,  /* The SURT is the key. */
    POLICY_PREFIX, /* It begins with the key. */
    POLICY_DOMAIN, /* And the key is a whole name of it. */
};

struct policy_rule {
    bool is_allowed;
    enum policy_match match;
    int64_t from_us;
    int64_t to_us; /* Not part of it. */
    struct slice reason;
    struct policy_rule *next; /* An earlier one of the key. */
};

/* A robots.txt of a site, from a time on. */
struct robots_span {
    int64_t from_us;
    struct robots_rules rules;
    struct robots_span *older; /* NULL: this is the first. */
};

struct archive_policy {
    struct arena arena;
    struct hash_map rules; /* Key to the newest rule. */
    size_t count;
    size_t longest; /* Bytes of a key. */
    bool noarchive;
    char *agent; /* The robot that robots.txt files are read for; NULL: none. */
    struct hash_map robots; /* Site to its newest span. */
};

struct archive_policy *archive_policy_new(void)
{
    struct archive_policy *p = mem_zalloc(1, sizeof(*p));
    arena_init(&p->arena);
    hash_map_init(&p->rules, HASH_KEYS_COPIED);
    hash_map_init(&p->robots, HASH_KEYS_COPIED);
    return p;
}

void archive_policy_free(struct archive_policy *p)
{
    if (!p)
        return;
    hash_map_close(&p->rules);
    hash_map_close(&p->robots);
    mem_free(p->agent);
    arena_close(&p->arena);
    mem_free(p);
}

void archive_policy_honour_noarchive(struct archive_policy *p)
{
    p->noarchive = true;
}

bool archive_policy_needs_robots(const struct archive_policy *p)
{
    return p->noarchive;
}

/* --- lists --------------------------------------------------------------- */

/* The first word of *@rest, which it is cut off. */
static struct slice policy_word(struct slice *rest)
{
    size_t n = 0;
    *rest = slice_trim(*rest);
    while (n < rest->len && rest->data[n] != ' ' && rest->data[n] != '\t')
        n++;
    struct slice word = slice_sub(*rest, 0, n);
    *rest = slice_trim(slice_sub(*rest, n, rest->len));
    return word;
}

/* A host without its path: what of a SURT is before the ')'. */
static bool surt_of_host(struct slice host, struct buf *key)
{
    struct buf url = BUF_INIT;
    bool ok;
    buf_printf(&url, "http://%.*s/", SLICE_ARG(host));
    surt_key(buf_slice(&url), key);
    buf_truncate(key, slice_find_byte(buf_slice(key), ')'));
    ok = key->len > 0 && slice_find_byte(host, '/') == host.len;
    buf_close(&url);
    return ok;
}

/* The key of a pattern; false: it is none. */
static bool
policy_key(struct slice pattern, struct buf *key, enum policy_match *match)
{
    *match = POLICY_EXACT;
    buf_clear(key);
    if (slice_starts_with(pattern, SLICE_LIT("*."))) {
        *match = POLICY_DOMAIN;
        return surt_of_host(slice_sub(pattern, 2, pattern.len), key);
    }
    if (slice_ends_with(pattern, SLICE_LIT("*"))) {
        *match = POLICY_PREFIX;
        pattern = slice_sub(pattern, 0, pattern.len - 1);
    }
    if (slice_starts_with(pattern, SLICE_LIT("http://")) ||
        slice_starts_with(pattern, SLICE_LIT("https://"))) {
        surt_key(pattern, key);
        /* Of a prefix the slash at its end counts. */
        if (*match == POLICY_PREFIX &&
            slice_ends_with(pattern, SLICE_LIT("/")) && key->len &&
            key->data[key->len - 1] != '/')
            buf_append_byte(key, '/');
        size_t end = slice_find_byte(buf_slice(key), ')');
        return end > 0 && end < key->len && pattern.len > strlen("https://");
    }
    if (slice_find_byte(pattern, ')') < pattern.len ||
        slice_find_byte(pattern, ',') < pattern.len) {
        *match = POLICY_PREFIX;
        buf_append_slice(key, pattern);
        return true;
    }
    *match = POLICY_PREFIX;
    if (!surt_of_host(pattern, key))
        return false;
    buf_append_byte(key, ')');
    return true;
}

/* The period that @digits name, [*from, *to): a year, a month, a day … */
static bool period_of(struct slice digits, int64_t *from, int64_t *to)
{
    char text[24];
    int64_t span;
    unsigned year = 0;
    unsigned month = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return false;
        if (i < 4)
            year = year * 10 + (unsigned)(digits.data[i] - '0');
        else if (i < 6)
            month = month * 10 + (unsigned)(digits.data[i] - '0');
    }
    if (digits.len < 4 || digits.len > 14 || digits.len % 2 ||
        !date_parse_span(digits, from, &span))
        return false;
    *to = *from + span;
    if (digits.len > 6)
        return true;
    /* Years and months are of different lengths. */
    if (digits.len == 4 || month == 12) {
        year++;
        month = 0;
    }
    snprintf(text, sizeof(text), "%04u%02u", year % 10000, month % 12 + 1);
    return year > 9999 || date_parse(slice_make(text, 6), to);
}

/* "from=2014" or "to=201506"; false: the word is part of the reason. *@bad: it
 * is no date. */
static bool take_period(struct slice word, struct policy_rule *rule, bool *bad)
{
    struct slice from = SLICE_LIT("from=");
    struct slice to = SLICE_LIT("to=");
    int64_t begin = INT64_MIN;
    int64_t end = INT64_MAX;
    bool is_from = slice_starts_with(word, from);
    if (!is_from && !slice_starts_with(word, to))
        return false;
    word = slice_sub(word, is_from ? from.len : to.len, word.len);
    *bad = !period_of(word, &begin, &end);
    if (is_from)
        rule->from_us = begin;
    else
        rule->to_us = end;
    return true;
}

static void add_rule(struct archive_policy *p,
                     struct slice key,
                     const struct policy_rule *rule)
{
    struct policy_rule *kept = arena_zalloc(&p->arena, sizeof(*kept));
    union hash_value *v = hash_map_put(&p->rules, key, NULL);
    *kept = *rule;
    kept->next = v->pointer;
    kept->reason = arena_dup(&p->arena, rule->reason);
    v->pointer = kept;
    p->count++;
    p->longest = MAX_OF(p->longest, key.len);
}

/* The rule of one line; NULL, or what is wrong with it. */
static const char *
read_rule(struct archive_policy *p, struct slice line, struct buf *key)
{
    struct policy_rule rule = {.from_us = INT64_MIN, .to_us = INT64_MAX};
    struct slice action = policy_word(&line);
    struct slice pattern = policy_word(&line);
    bool bad = false;
    rule.is_allowed = slice_eq_str(action, "allow");
    if (!rule.is_allowed && !slice_eq_str(action, "block"))
        return "begins with neither block nor allow";
    if (pattern.len == 0 || !policy_key(pattern, key, &rule.match))
        return "names no URL, host or key";
    for (;;) {
        struct slice rest = line;
        if (!take_period(policy_word(&rest), &rule, &bad))
            break;
        if (bad)
            return "has a date that is none";
        line = rest;
    }
    rule.reason = line.len ? slice_sub(line, 0, ARCHIVE_POLICY_REASON_BYTES)
                           : SLICE_LIT(REASON_DEFAULT);
    if (p->count == ARCHIVE_POLICY_RULES_MAX)
        return "is one too many";
    add_rule(p, buf_slice(key), &rule);
    return NULL;
}

int archive_policy_read(struct archive_policy *p,
                        struct slice text,
                        const char *name,
                        struct err *err)
{
    struct buf key = BUF_INIT;
    size_t number = 0;
    int rc = 0;
    PRE(p != NULL);
    while (text.len && rc == 0) {
        size_t n = slice_find_byte(text, '\n');
        struct slice line = slice_trim(slice_sub(text, 0, n));
        const char *why = NULL;
        number++;
        if (line.len && line.data[0] != '#')
            why = read_rule(p, line, &key);
        if (why)
            rc = err_set(err, ERR_INVALID, "%s: line %zu %s: '%.*s'", name,
                         number, why, (int)MIN_OF(line.len, (size_t)100),
                         line.data);
        text = slice_sub(text, n + 1, text.len);
    }
    buf_close(&key);
    return rc;
}

/* --- robots -------------------------------------------------------------- */

/* Is one of the words of @list, between commas, noarchive or none? */
static bool has_noarchive(struct slice list)
{
    while (list.len) {
        size_t n = slice_find_byte(list, ',');
        struct slice word = slice_trim(slice_sub(list, 0, n));
        if (http_slice_is(word, "noarchive") || http_slice_is(word, "none"))
            return true;
        list = slice_sub(list, n + 1, list.len);
    }
    return false;
}

bool archive_robots_noarchive(struct slice robots, struct slice head)
{
    const char *name = "x-robots-tag:";
    if (has_noarchive(robots))
        return true;
    while (head.len) {
        size_t n = slice_find_byte(head, '\n');
        struct slice line = slice_sub(head, 0, n);
        /* "googlebot: noarchive" is for that robot alone. */
        if (http_slice_is(slice_sub(line, 0, strlen(name)), name) &&
            has_noarchive(slice_sub(line, strlen(name), line.len)))
            return true;
        head = slice_sub(head, n + 1, head.len);
    }
    return false;
}

/* --- robots.txt ---------------------------------------------------------- */

void archive_policy_honour_robots(struct archive_policy *p, const char *agent)
{
    PRE(!p->agent && *agent);
    p->agent = mem_strdup(agent);
}

bool archive_policy_wants_robots_txt(const struct archive_policy *p)
{
    return p->agent != NULL;
}

int archive_policy_add_robots(struct archive_policy *p,
                              struct slice site,
                              int64_t time_us,
                              struct slice text,
                              struct err *err)
{
    union hash_value *v = hash_map_put(&p->robots, site, NULL);
    struct robots_span *span;
    PRE(p->agent != NULL);
    if (p->arena.bytes > ARCHIVE_ROBOTS_BYTES_MAX)
        return err_set(err, ERR_EXHAUSTED,
                       "robots.txt files have more than %zu MiB of rules",
                       ARCHIVE_ROBOTS_BYTES_MAX >> 20);
    span = arena_zalloc(&p->arena, sizeof(*span));
    span->from_us = time_us;
    span->older = v->pointer;
    INVARIANT(!span->older || span->older->from_us <= time_us);
    robots_rules_read(text, p->agent, &p->arena, &span->rules);
    v->pointer = span;
    return 0;
}

/* Does the robots.txt of that time let the robot fetch the capture? It may
 * always fetch a robots.txt. */
static bool robots_allow(const struct archive_policy *p,
                         const struct archive_subject *s)
{
    struct slice site = slice_sub(s->row, 0, slice_find_byte(s->row, '/'));
    struct slice path = slice_sub(s->row, site.len, s->row.len);
    const union hash_value *v = hash_map_get(&p->robots, site);
    const struct robots_span *span = v ? v->pointer : NULL;
    if (!span || slice_eq_str(path, "/robots.txt"))
        return true;
    while (span->older && span->from_us > s->time_us)
        span = span->older;
    return robots_rules_allow(&span->rules, path);
}

/* --- verdicts ------------------------------------------------------------ */

static bool rule_fits(const struct policy_rule *r,
                      size_t key_len,
                      const struct archive_subject *s)
{
    if (s->time_us < r->from_us || s->time_us >= r->to_us)
        return false;
    if (r->match == POLICY_EXACT)
        return s->surt.len == key_len;
    if (r->match == POLICY_PREFIX || s->surt.len == key_len)
        return true;
    return s->surt.data[key_len] == ')' || s->surt.data[key_len] == ',' ||
           s->surt.data[key_len] == ':';
}

/* The rule with the longest key that fits, or NULL. */
static const struct policy_rule *find_rule(const struct archive_policy *p,
                                           const struct archive_subject *s)
{
    for (size_t n = MIN_OF(s->surt.len, p->longest); n > 0; n--) {
        const union hash_value *v =
            hash_map_get(&p->rules, slice_sub(s->surt, 0, n));
        const struct policy_rule *r = v ? v->pointer : NULL;
        for (; r; r = r->next)
            if (rule_fits(r, n, s))
                return r;
    }
    return NULL;
}

bool archive_policy_allows(const struct archive_policy *p,
                           const struct archive_subject *s,
                           struct slice *reason)
{
    const struct policy_rule *r = find_rule(p, s);
    PRE(reason != NULL);
    *reason = SLICE_EMPTY;
    if (r) {
        *reason = r->reason;
        return r->is_allowed;
    }
    if (p->agent && !robots_allow(p, s)) {
        *reason = SLICE_LIT(REASON_ROBOTS);
        return false;
    }
    if (!p->noarchive || !archive_robots_noarchive(s->robots, s->head))
        return true;
    *reason = SLICE_LIT(REASON_NOARCHIVE);
    return false;
}
