/* The list of findings and how it is drawn: each rule looks at the facts, the
 * memory says since when, and what has not lasted long enough is dropped.
 */
#include "cli/monitor/finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/core/text.h"

const struct finding_rule *finding_rules(size_t *count)
{
    static const struct finding_rule rules[] = {
#define RULE(id, hold_s, when, remedy, link)                                   \
    {#id, hold_s, when, remedy, link, rule_##id},
#include "cli/monitor/finding_rules.def"
#undef RULE
    };
    *count = ARRAY_LEN(rules);
    return rules;
}

/* --- for rules ----------------------------------------------------------- */

static const char *list_vprintf(struct finding_list *l,
                                const char *fmt,
                                va_list ap) PRINTF_LIKE(2, 0);

static const char *
list_vprintf(struct finding_list *l, const char *fmt, va_list ap)
{
    struct buf b = BUF_INIT;
    const char *text;
    buf_vprintf(&b, fmt, ap);
    text = arena_strdup(&l->arena, buf_cstr(&b));
    buf_close(&b);
    return text;
}

static struct finding *last_finding(struct finding_list *l)
{
    PRE(l->count > 0);
    return &l->at[l->count - 1];
}

struct finding *finding_add(struct finding_list *l,
                            enum finding_severity severity,
                            const char *fmt,
                            ...)
{
    va_list ap;
    PRE(severity <= FINDING_FAILURE);
    if (l->count == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        l->at = mem_realloc(l->at, l->cap * sizeof(*l->at));
    }
    l->at[l->count++] = (struct finding){.severity = severity};
    va_start(ap, fmt);
    last_finding(l)->subject = list_vprintf(l, fmt, ap);
    va_end(ap);
    return last_finding(l);
}

void finding_say(struct finding_list *l, const char *fmt, ...)
{
    va_list ap;
    PRE(!last_finding(l)->sentence);
    va_start(ap, fmt);
    last_finding(l)->sentence = list_vprintf(l, fmt, ap);
    va_end(ap);
}

void finding_remedy(struct finding_list *l, const char *fmt, ...)
{
    va_list ap;
    PRE(!last_finding(l)->remedy);
    va_start(ap, fmt);
    last_finding(l)->remedy = list_vprintf(l, fmt, ap);
    va_end(ap);
}

void finding_link(struct finding_list *l, const char *fmt, ...)
{
    va_list ap;
    PRE(*fmt == '/');
    va_start(ap, fmt);
    last_finding(l)->link = list_vprintf(l, fmt, ap);
    va_end(ap);
}

/* Letters, digits and a few more stand for themselves in a path. */
static bool is_plain_in_path(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           c == ':';
}

void finding_link_node(struct finding_list *l, const struct fact_node *n)
{
    struct buf b = BUF_INIT;
    PRE(*n->name);
    for (const char *c = n->name; *c; c++)
        if (is_plain_in_path(*c))
            buf_append(&b, c, 1);
        else
            buf_printf(&b, "%%%02X", (unsigned)(unsigned char)*c);
    finding_link(l, "/nodes/%s", buf_cstr(&b));
    buf_close(&b);
}

static const char *list_take(struct finding_list *l, struct buf *b)
{
    const char *text = arena_strdup(&l->arena, buf_cstr(b));
    buf_close(b);
    return text;
}

/* Figures come from other processes: no cast of what does not fit. */
static uint64_t finding_whole(double x)
{
    return x > 0 && x < 9e18 ? (uint64_t)x : 0;
}

const char *finding_bytes(struct finding_list *l, double bytes)
{
    struct buf b = BUF_INIT;
    text_put_bytes(&b, finding_whole(bytes));
    return list_take(l, &b);
}

const char *finding_duration(struct finding_list *l, double seconds)
{
    struct buf b = BUF_INIT;
    uint64_t us = finding_whole(seconds * 1e6);
    if (us >= 10000000)
        us -= us % 1000000;
    text_put_duration(&b, us);
    return list_take(l, &b);
}

const char *finding_number(struct finding_list *l, double n)
{
    struct buf b = BUF_INIT;
    text_put_count(&b, finding_whole(n + 0.5));
    return list_take(l, &b);
}

const char *finding_time(struct finding_list *l,
                         const struct finding_facts *f,
                         uint64_t at_us)
{
    struct buf b = BUF_INIT;
    uint64_t day_us = UINT64_C(86400000000);
    text_put_time(&b, (int64_t)(at_us - at_us % 1000000));
    if (at_us / day_us == f->now_us / day_us && b.len > 11)
        buf_consume(&b, 11); /* "2024-01-31T" */
    return list_take(l, &b);
}

/* --- memory -------------------------------------------------------------- */

struct finding_moment {
    uint64_t first_us; /* It has been so since then, but for short gaps; */
    uint64_t last_us;  /* it was so then. */
};

struct finding_memory {
    uint64_t begun_us; /* Somebody has looked since then, without a gap; */
    uint64_t last_us;  /* and last then. */
    struct hash_map moments; /* By "ID SUBJECT". Owned values. */
};

struct finding_memory *finding_memory_new(void)
{
    struct finding_memory *m = mem_zalloc(1, sizeof(*m));
    hash_map_init(&m->moments, HASH_KEYS_COPIED);
    return m;
}

void finding_memory_free(struct finding_memory *m)
{
    const struct hash_slot *slot;
    size_t at = 0;
    if (!m)
        return;
    while ((slot = hash_map_next(&m->moments, &at)) != NULL)
        mem_free(slot->value.pointer);
    hash_map_close(&m->moments);
    mem_free(m);
}

/* Note that @x is so now. */
static const struct finding_moment *
memory_note(struct finding_memory *m, const struct finding *x, uint64_t now_us)
{
    struct buf key = BUF_INIT;
    struct finding_moment *moment;
    union hash_value *value;
    bool is_new;
    buf_printf(&key, "%s %s", x->rule->id, x->subject);
    value = hash_map_put(&m->moments, buf_slice(&key), &is_new);
    buf_close(&key);
    if (is_new)
        value->pointer = mem_zalloc(1, sizeof(*moment));
    moment = value->pointer;
    INVARIANT(moment->first_us <= moment->last_us);
    if (is_new || now_us > moment->last_us + FINDING_GAP_US)
        moment->first_us = now_us;
    moment->last_us = now_us;
    return moment;
}

/* Forget one that is over: subjects come and go. False: none is. */
static bool memory_forget_one(struct finding_memory *m, uint64_t now_us)
{
    const struct hash_slot *slot;
    size_t at = 0;
    while ((slot = hash_map_next(&m->moments, &at)) != NULL) {
        struct finding_moment *x = slot->value.pointer;
        if (now_us <= x->last_us + FINDING_GAP_US)
            continue;
        (void)hash_map_remove(&m->moments, slot->key, NULL);
        mem_free(x);
        return true;
    }
    return false;
}

/* --- drawing ------------------------------------------------------------- */

/* Complete @x, and say whether it has lasted long enough. */
static bool findings_take(struct finding *x,
                          const struct finding_facts *f,
                          struct finding_memory *memory)
{
    const struct finding_moment *moment = memory_note(memory, x, f->now_us);
    PRE(x->sentence);
    if (x->since_at_us == 0 || x->since_at_us > moment->first_us)
        x->since_at_us = moment->first_us;
    if (!x->remedy)
        x->remedy = x->rule->remedy;
    if (!x->link)
        x->link = x->rule->link;
    return moment->first_us == memory->begun_us ||
           f->now_us >= x->since_at_us + UINT64_C(1000000) * x->rule->hold_s;
}

static void rule_draw(const struct finding_rule *rule,
                      const struct finding_facts *f,
                      struct finding_memory *memory,
                      struct finding_list *out)
{
    size_t kept = out->count;
    size_t from = out->count;
    rule->look(f, out);
    for (size_t i = from; i < out->count; i++) {
        out->at[i].rule = rule;
        if (findings_take(&out->at[i], f, memory))
            out->at[kept++] = out->at[i];
    }
    INVARIANT(kept <= out->count);
    out->count = kept;
}

static int compare_findings(const void *a, const void *b)
{
    const struct finding *x = a;
    const struct finding *y = b;
    if (x->severity != y->severity)
        return x->severity < y->severity ? 1 : -1;
    if (x->since_at_us != y->since_at_us)
        return x->since_at_us < y->since_at_us ? -1 : 1;
    if (x->rule != y->rule) /* Of one table. */
        return x->rule < y->rule ? -1 : 1;
    return strcmp(x->subject, y->subject);
}

void findings_draw(const struct finding_facts *f,
                   struct finding_memory *memory,
                   struct finding_list *out)
{
    size_t count;
    const struct finding_rule *rules = finding_rules(&count);
    PRE(memory);
    PRE(count > 0);
    PRE(f->node_count == 0 || f->nodes);
    *out = (struct finding_list){.at = NULL};
    arena_init(&out->arena);
    if (memory->begun_us == 0 || f->now_us > memory->last_us + FINDING_GAP_US)
        memory->begun_us = f->now_us;
    memory->last_us = f->now_us;
    for (size_t i = 0; i < count; i++)
        rule_draw(&rules[i], f, memory, out);
    if (out->count)
        qsort(out->at, out->count, sizeof(*out->at), compare_findings);
    while (memory_forget_one(memory, f->now_us))
        continue;
}

void finding_list_close(struct finding_list *l)
{
    mem_free(l->at);
    arena_close(&l->arena);
}

/* --- over all ------------------------------------------------------------ */

const char *finding_severity_name(enum finding_severity s)
{
    static const char *const names[] = {"note", "warning", "failure"};
    PRE(s < ARRAY_LEN(names));
    return names[s];
}

size_t findings_count(const struct finding_list *l, enum finding_severity s)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        count += l->at[i].severity == s;
    return count;
}

const char *findings_state(const struct finding_list *l)
{
    if (findings_count(l, FINDING_FAILURE))
        return "failing";
    return findings_count(l, FINDING_WARNING) ? "warning" : "well";
}

static void put_counted(struct buf *out, size_t count, const char *what)
{
    buf_printf(out, "%zu %s%s", count, what, count == 1 ? "" : "s");
}

static void put_well(const struct finding_list *l,
                     const struct finding_facts *f,
                     struct buf *out)
{
    size_t up = 0;
    for (size_t i = 0; i < f->node_count; i++)
        up += f->nodes[i].state == FACT_UP;
    buf_append_str(out, "The cluster is well: ");
    if (up == f->node_count)
        put_counted(out, up, "node");
    else
        buf_printf(out, "%zu of %zu nodes", up, f->node_count);
    buf_append_str(out, up == 1 ? " answers" : " answer");
    if (f->files.known && f->files.chunks)
        buf_append_str(out, ", every chunk has its copies");
    if (l->count) {
        buf_append_str(out, "; ");
        put_counted(out, l->count, "note");
    }
    buf_append_str(out, ".");
}

void findings_put_sentence(const struct finding_list *l,
                           const struct finding_facts *f,
                           struct buf *out)
{
    size_t failures = findings_count(l, FINDING_FAILURE);
    size_t warnings = findings_count(l, FINDING_WARNING);
    if (failures + warnings == 0) {
        put_well(l, f, out);
        return;
    }
    buf_append_str(out, failures ? "The cluster is failing: "
                                 : "The cluster works, with ");
    if (failures)
        put_counted(out, failures, "failure");
    if (warnings) {
        buf_append_str(out, failures ? " and " : "");
        put_counted(out, warnings, "warning");
    }
    INVARIANT(l->at[0].severity >= FINDING_WARNING);
    buf_printf(out, failures + warnings > 1 ? ". First: %s" : ". %s",
               l->at[0].sentence);
}
