/* Changing and searching a schema. Searches by name are linear: a table has
 * tens of families, and hot paths keep the pointer they found. Families are in
 * order of their ids, by which reads search, so those are binary. A change that
 * fails leaves the schema as it was.
 */
#include "bigtable/row/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/hidden.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/option_text.h"

struct schema *schema_new(void)
{
    struct schema *s = mem_zalloc(1, sizeof(*s));
    s->groups = mem_zalloc(1, sizeof(*s->groups));
    s->group_count = 1;
    snprintf(s->groups[0].name, sizeof(s->groups[0].name), "%s",
             SCHEMA_DEFAULT_GROUP);
    s->groups[0].id = 1;
    group_options_default(&s->groups[0].options);
    s->next_group = 2;
    s->next_family = 1;
    return s;
}

struct schema *schema_copy(const struct schema *s)
{
    struct schema *c = mem_alloc(sizeof(*c));
    PRE(s->group_count > 0);
    *c = *s;
    c->groups = mem_alloc(s->group_count * sizeof(*s->groups));
    memcpy(c->groups, s->groups, s->group_count * sizeof(*s->groups));
    c->families = mem_alloc(s->family_count * sizeof(*s->families));
    if (s->family_count)
        memcpy(c->families, s->families,
               s->family_count * sizeof(*s->families));
    for (size_t i = 0; i < s->family_count; i++)
        c->families[i].gc = gc_rule_copy(s->families[i].gc);
    c->indexes = index_set_ref(s->indexes);
    return c;
}

void schema_free(struct schema *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->family_count; i++)
        gc_rule_free(s->families[i].gc);
    mem_free(s->families);
    mem_free(s->groups);
    index_set_unref(s->indexes);
    mem_free(s);
}

const struct family *schema_family(const struct schema *s, struct slice name)
{
    for (size_t i = 0; i < s->family_count; i++)
        if (slice_eq_str(name, s->families[i].name))
            return &s->families[i];
    return NULL;
}

const struct family *schema_family_by_id(const struct schema *s, family_id id)
{
    size_t low = 0;
    size_t high = s->family_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->families[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->family_count && s->families[low].id == id
               ? &s->families[low]
               : NULL;
}

bool schema_has_aggregates(const struct schema *s)
{
    for (size_t i = 0; i < s->family_count; i++)
        if (s->families[i].aggregate != AGGREGATE_NONE)
            return true;
    return false;
}

const struct locality_group *schema_group(const struct schema *s,
                                          struct slice name)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (slice_eq_str(name, s->groups[i].name))
            return &s->groups[i];
    return NULL;
}

const struct locality_group *schema_group_by_id(const struct schema *s,
                                                uint32_t id)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i].id == id)
            return &s->groups[i];
    return NULL;
}

int schema_no_family(const struct schema *s, struct slice name, struct err *err)
{
    struct buf list = BUF_INIT;
    for (size_t i = 0; i < s->family_count; i++)
        if (!s->families[i].hidden)
            buf_printf(&list, "%s%s", list.len ? ", " : "",
                       s->families[i].name);
    if (list.len)
        err_set(err, ERR_NOTFOUND, "no column family %.*s; there are: %s",
                SLICE_ARG(name), buf_cstr(&list));
    else
        err_set(err, ERR_NOTFOUND,
                "no column family %.*s; the table has none yet",
                SLICE_ARG(name));
    buf_close(&list);
    return ERR_NOTFOUND;
}

static int no_group(const struct schema *s, struct slice name, struct err *err)
{
    struct buf list = BUF_INIT;
    PRE(s->group_count > 0);
    for (size_t i = 0; i < s->group_count; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", s->groups[i].name);
    err_set(err, ERR_NOTFOUND, "no locality group %.*s; there are: %s",
            SLICE_ARG(name), buf_cstr(&list));
    buf_close(&list);
    return ERR_NOTFOUND;
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

static int check_name(const char *what,
                      struct slice name,
                      size_t bytes_max,
                      struct err *err)
{
    bool good = name.len > 0 && name.len <= bytes_max;
    PRE(what);
    for (size_t i = 0; i < name.len && good; i++)
        good = is_name_byte(name.data[i]);
    if (good)
        return 0;
    err_set(err, ERR_INVALID, "%s name \"%.*s\" is not allowed", what,
            SLICE_ARG(slice_sub(name, 0, bytes_max)));
    err_hint(err, "1 to %zu letters, digits, '_', '-' or '.'", bytes_max);
    return ERR_INVALID;
}

int schema_check_name(const char *what, struct slice name, struct err *err)
{
    return check_name(what, name, FAMILY_NAME_BYTES_MAX, err);
}

int schema_check_table_name(struct slice name, struct err *err)
{
    return check_name("table", name, TABLE_NAME_BYTES_MAX, err);
}

/* The parsed options of a family, before it takes them. */
struct family_options {
    struct gc_rule *versions; /* Owned, as the two below; NULL: not given. */
    struct gc_rule *age;
    struct gc_rule *gc;
    bool gc_given;
    uint32_t group; /* 0: not given. */
    enum aggregate_kind aggregate;
};

static void family_options_close(struct family_options *o)
{
    gc_rule_free(o->versions);
    gc_rule_free(o->age);
    gc_rule_free(o->gc);
}

static int parse_gc_option(const struct option_pair *p,
                           struct gc_rule **out,
                           struct err *err)
{
    char text[64];
    struct slice s = slice_make(text, 0);
    int n = snprintf(text, sizeof(text), "%.*s=%.*s", SLICE_ARG(p->key),
                     SLICE_ARG(p->value));
    PRE(n > 0);
    s.len = MIN_OF((size_t)n, sizeof(text) - 1);
    gc_rule_free(*out);
    *out = NULL;
    return gc_rule_parse(s, out, err);
}

static int parse_family_option(const struct schema *s,
                               const struct option_pair *p,
                               struct family_options *o,
                               struct err *err)
{
    const struct locality_group *g;
    if (slice_eq_str(p->key, "versions"))
        return parse_gc_option(p, &o->versions, err);
    if (slice_eq_str(p->key, "ttl"))
        return parse_gc_option(p, &o->age, err);
    if (slice_eq_str(p->key, "gc")) {
        gc_rule_free(o->gc);
        o->gc = NULL;
        o->gc_given = true;
        return p->value.len == 0 || slice_eq_str(p->value, "none")
                   ? 0
                   : gc_rule_parse(p->value, &o->gc, err);
    }
    if (slice_eq_str(p->key, "aggregate"))
        return aggregate_parse(p->value, &o->aggregate)
                   ? 0
                   : err_set(err, ERR_INVALID,
                             "unknown aggregate %.*s: there are sum, min, max, "
                             "hll, hll-bytes",
                             SLICE_ARG(p->value));
    if (!slice_eq_str(p->key, "group"))
        return err_set(err, ERR_INVALID,
                       "unknown family option %.*s: the options are versions, "
                       "ttl, gc, group, aggregate",
                       SLICE_ARG(p->key));
    g = schema_group(s, p->value);
    if (!g)
        return no_group(s, p->value, err);
    o->group = g->id;
    return 0;
}

static int parse_family_options(const struct schema *s,
                                const char *text,
                                struct family_options *o,
                                struct err *err)
{
    struct option_text t = option_text_make(text);
    struct option_pair p;
    bool more;
    int rc;
    do {
        rc = option_text_next(&t, &p, &more, err);
        if (rc == 0 && more)
            rc = parse_family_option(s, &p, o, err);
    } while (rc == 0 && more);
    if (rc == 0 && o->gc_given && (o->versions || o->age))
        rc = err_set(err, ERR_INVALID,
                     "gc= already says it all: leave versions= and ttl= out");
    return rc;
}

/* The one rule the options make; ownership moves to the caller. */
static struct gc_rule *take_rule(struct family_options *o)
{
    struct gc_rule *parts[2] = {o->versions, o->age};
    struct gc_rule *r = o->gc;
    if (o->versions && o->age)
        r = gc_rule_combine(GC_RULE_UNION, parts, 2);
    else if (!r)
        r = o->versions ? o->versions : o->age;
    *o = (struct family_options){.group = o->group};
    return r;
}

int schema_add_family(struct schema *s,
                      const char *name,
                      const char *options,
                      struct err *err)
{
    struct family_options o = {0};
    struct family *f;
    int rc = schema_check_name("column family", slice_str(name), err);
    if (rc)
        return rc;
    if (schema_family(s, slice_str(name)))
        return err_set(err, ERR_EXISTS, "column family %s exists already",
                       name);
    if (s->family_count >= FAMILY_COUNT_MAX || s->next_family == UINT16_MAX)
        return err_set(err, ERR_TOOBIG,
                       "column family %s: a table has at most %d families",
                       name, FAMILY_COUNT_MAX);
    rc = parse_family_options(s, options, &o, err);
    if (rc) {
        err_wrap(err, "column family %s", name);
        family_options_close(&o);
        return rc;
    }
    s->families = mem_realloc(s->families, (s->family_count + 1) * sizeof(*f));
    f = &s->families[s->family_count++];
    *f = (struct family){.id = s->next_family++,
                         .group = o.group ? o.group : s->groups[0].id,
                         .aggregate = o.aggregate};
    snprintf(f->name, sizeof(f->name), "%s", name);
    f->gc = take_rule(&o);
    f->hidden = hidden_is_name(slice_str(name));
    s->hidden_count += f->hidden;
    s->txn_count += hidden_is_txn(slice_str(name));
    return 0;
}

/* An index is kept by writers: what a change of @family does without them, it
 * would not know. */
static int refuse_indexed(const struct schema *s,
                          const char *family,
                          const char *why,
                          struct err *err)
{
    const char *index = index_set_of_family(s->indexes, family);
    if (!index)
        return 0;
    err_set(err, ERR_UNSUPPORTED, "column family %s: index %s is of it, and %s",
            family, index, why);
    err_hint(err, "drop the index first: quarry index drop");
    return ERR_UNSUPPORTED;
}

int schema_update_family(struct schema *s,
                         const char *name,
                         const char *options,
                         struct err *err)
{
    const struct family *found = schema_family(s, slice_str(name));
    struct family_options o = {0};
    struct family *f;
    int rc;
    if (!found)
        return schema_no_family(s, slice_str(name), err);
    rc = refuse_indexed(s, name, "another rule may show cells again", err);
    if (rc)
        return rc;
    f = &s->families[found - s->families];
    rc = parse_family_options(s, options, &o, err);
    if (rc == 0 && o.group && o.group != f->group)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "a family stays in its locality group: drop it and add it "
                     "again");
    if (rc == 0 && o.aggregate && o.aggregate != f->aggregate)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "a family keeps the aggregate it was created with: drop "
                     "it and add it again");
    if (rc) {
        err_wrap(err, "column family %s", name);
        family_options_close(&o);
        return rc;
    }
    gc_rule_free(f->gc);
    f->gc = take_rule(&o);
    return 0;
}

int schema_drop_family(struct schema *s, const char *name, struct err *err)
{
    const struct family *found = schema_family(s, slice_str(name));
    size_t i;
    int rc;
    if (!found)
        return schema_no_family(s, slice_str(name), err);
    rc = refuse_indexed(s, name, "its cells would go without a write", err);
    if (rc)
        return rc;
    i = (size_t)(found - s->families);
    gc_rule_free(s->families[i].gc);
    INVARIANT(i < s->family_count);
    s->hidden_count -= s->families[i].hidden;
    s->txn_count -= hidden_is_txn(slice_str(s->families[i].name));
    s->family_count--;
    memmove(&s->families[i], &s->families[i + 1],
            (s->family_count - i) * sizeof(*s->families));
    return 0;
}

int schema_update_group(struct schema *s,
                        const char *name,
                        const char *options,
                        struct err *err)
{
    const struct locality_group *g = schema_group(s, slice_str(name));
    int rc;
    if (!g)
        return no_group(s, slice_str(name), err);
    rc = group_options_parse(&s->groups[g - s->groups].options, options, err);
    if (rc)
        err_wrap(err, "locality group %s", name);
    return rc;
}

int schema_add_group(struct schema *s,
                     const char *name,
                     const char *options,
                     struct err *err)
{
    struct group_options o;
    struct locality_group *g;
    int rc = schema_check_name("locality group", slice_str(name), err);
    if (rc)
        return rc;
    if (schema_group(s, slice_str(name)))
        return err_set(err, ERR_EXISTS, "locality group %s exists already",
                       name);
    if (s->group_count >= GROUP_COUNT_MAX)
        return err_set(err, ERR_TOOBIG,
                       "locality group %s: a table has at most %d groups", name,
                       GROUP_COUNT_MAX);
    group_options_default(&o);
    rc = group_options_parse(&o, options, err);
    if (rc) {
        err_wrap(err, "locality group %s", name);
        return rc;
    }
    s->groups = mem_realloc(s->groups, (s->group_count + 1) * sizeof(*g));
    g = &s->groups[s->group_count++];
    *g = (struct locality_group){.id = s->next_group++, .options = o};
    snprintf(g->name, sizeof(g->name), "%s", name);
    return 0;
}

/* --- the families of transactions ---------------------------------------- */

static bool is_hidden_group(const struct schema *s, uint32_t id)
{
    const struct locality_group *g = schema_group_by_id(s, id);
    return g && hidden_is_group(slice_str(g->name));
}

int schema_check_hidden(const struct schema *s, struct err *err)
{
    bool good = s->txn_count == 0 || s->txn_count == HIDDEN_FAMILY_COUNT;
    for (size_t i = 0; i < s->family_count; i++)
        good &=
            s->families[i].hidden == is_hidden_group(s, s->families[i].group);
    for (size_t i = 0; s->txn_count && i < HIDDEN_FAMILY_COUNT; i++)
        good &= schema_family(s, slice_str(hidden_families[i].name)) != NULL;
    if (good && !s->indexes && schema_family(s, SLICE_LIT(INDEX_FAMILY)))
        return err_set(err, ERR_INVALID,
                       "the name %s is kept for tables with indexes",
                       INDEX_FAMILY);
    if (good)
        return 0;
    err_set(err, ERR_INVALID,
            "family names that begin with \"%s\" and the group \"%s\" are "
            "kept for transactions",
            HIDDEN_PREFIX, HIDDEN_GROUP);
    err_hint(err, "a table gets them by --transactions, and keeps them");
    return ERR_INVALID;
}
