/* Both ends are opened, and told apart by their sites.
 */
#include "bigtable/replication/replication_stream.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"

int replication_target_open(struct quarry *q,
                            const struct quarry_replication_spec *s,
                            struct quarry **out,
                            struct err *err)
{
    const struct quarry_options o = {
        .must_exist = true,
        .world = quarry_world(q),
        .key_file = s->key_file,
        .cluster = s->cluster,
        .principal = s->principal,
        .certificate_file = s->certificate_file,
        .certificate_key_file = s->certificate_key_file,
        .authority_file = s->authority_file,
    };
    int rc;
    *out = q;
    if (!s->target || !*s->target)
        return 0;
    *out = NULL;
    rc = quarry_open(s->target, &o, out, err);
    if (rc)
        err_wrap(err, "open %s", s->target);
    return rc;
}

static int open_tables(struct quarry_replication *r,
                       const struct quarry_replication_spec *s,
                       struct err *err)
{
    const char *to = s->to_table ? s->to_table : s->table;
    int rc = quarry_table_open(r->from, s->table, &r->source, err);
    if (rc == 0)
        rc = quarry_replication_site(r->from, s->table, &r->from_site, err);
    if (rc)
        return rc;
    rc = quarry_table_open(r->to, to, &r->target, err);
    if (rc == 0)
        rc = quarry_replication_site(r->to, to, &r->to_site, err);
    if (rc) {
        err_wrap(err, "the other end");
        return rc;
    }
    if (r->from_site != r->to_site)
        return 0;
    err_set(err, ERR_INVALID,
            "both ends are the same site: they are one table, or one store is "
            "a copy of the other's files");
    err_hint(err,
             "drop the table %s of a copied store, which gets a number of its "
             "own then",
             REPLICATION_SITES);
    return ERR_INVALID;
}

/* Families by name: those that are sent are here and there. */
static int check_families(struct quarry_replication *r, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->rules.family_count && rc == 0; i++) {
        rc = quarry_table_check_family(r->source, r->rules.families[i].from,
                                       err);
        if (rc == 0) {
            rc = quarry_table_check_family(r->target, r->rules.families[i].to,
                                           err);
            if (rc)
                err_wrap(err, "the other end");
        }
    }
    return rc;
}

int quarry_replication_open(struct quarry *q,
                            const struct quarry_replication_spec *spec,
                            struct quarry_replication **out,
                            struct err *err)
{
    struct quarry_replication *r = mem_zalloc(1, sizeof(*r));
    int rc;
    r->from = q;
    r->bytes_per_s = spec->bytes_per_s;
    buf_append_slice(&r->start, spec->start);
    buf_append_slice(&r->end, spec->end);
    rc = replication_rules_init(&r->rules, spec, err);
    if (rc == 0)
        rc = replication_target_open(q, spec, &r->to, err);
    if (rc == 0)
        rc = open_tables(r, spec, err);
    if (rc == 0)
        rc = check_families(r, err);
    if (rc) {
        quarry_replication_close(r);
        r = NULL;
    }
    *out = r;
    return rc;
}

void quarry_replication_close(struct quarry_replication *r)
{
    if (!r)
        return;
    replication_batch_close(&r->batch);
    if (r->source)
        quarry_table_close(r->source);
    if (r->target)
        quarry_table_close(r->target);
    if (r->to && r->to != r->from)
        quarry_close(r->to);
    replication_rules_close(&r->rules);
    buf_close(&r->start);
    buf_close(&r->end);
    mem_free(r);
}

void quarry_replication_cancel(struct quarry_replication *r,
                               const quarry_flag *stop)
{
    r->stop = stop;
}

struct quarry_table *quarry_replication_target(struct quarry_replication *r)
{
    return r->target;
}

/* --- a table like this one ----------------------------------------------- */

static const char *name_of(const struct quarry_replication_spec *s,
                           const char *family)
{
    for (size_t i = 0; i < s->family_count; i++)
        if (strcmp(s->families[i].from, family) == 0)
            return s->families[i].to ? s->families[i].to : family;
    return s->family_count ? NULL : family;
}

static int create_like(struct quarry *to,
                       const char *name,
                       const struct quarry_table_info *like,
                       const struct quarry_replication_spec *s,
                       struct err *err)
{
    struct quarry_family_spec *families =
        mem_zalloc(like->family_count + 1, sizeof(*families));
    struct quarry_group_spec *groups =
        mem_zalloc(like->group_count + 1, sizeof(*groups));
    struct buf *texts = mem_zalloc(like->family_count + 1, sizeof(*texts));
    size_t n = 0;
    int rc;
    for (size_t i = 0; i < like->family_count; i++) {
        const struct quarry_family_info *f = &like->families[i];
        const char *called = name_of(s, f->name);
        if (!called || f->name[0] == '.')
            continue;
        buf_printf(&texts[n], "group=%s", f->group);
        if (f->gc[0])
            buf_printf(&texts[n], ",gc=%s", f->gc);
        families[n] = (struct quarry_family_spec){called, buf_cstr(&texts[n])};
        n++;
    }
    for (size_t i = 0; i < like->group_count; i++)
        groups[i] = (struct quarry_group_spec){like->groups[i].name,
                                               like->groups[i].options};
    rc = quarry_table_create_with_changes(
        to, name, families, n, groups, like->group_count, like->changes, err);
    for (size_t i = 0; i < n; i++)
        buf_close(&texts[i]);
    mem_free(texts);
    mem_free(families);
    mem_free(groups);
    return rc;
}

int quarry_replication_create_target(struct quarry *q,
                                     const struct quarry_replication_spec *spec,
                                     bool *made,
                                     struct err *err)
{
    const char *name = spec->to_table ? spec->to_table : spec->table;
    struct quarry_table_info *like = NULL;
    struct quarry_table *there = NULL;
    struct quarry *to = NULL;
    bool created = false;
    int rc = quarry_table_describe(q, spec->table, &like, err);
    if (rc == 0)
        rc = replication_target_open(q, spec, &to, err);
    if (rc == 0) {
        struct err why = ERR_INIT;
        rc = quarry_table_open(to, name, &there, &why);
        if (rc == ERR_NOTFOUND) {
            rc = create_like(to, name, like, spec, err);
            created = rc == 0;
        } else if (rc) {
            err_copy(err, &why);
        }
        if (rc)
            err_wrap(err, "the other end");
    }
    if (there)
        quarry_table_close(there);
    if (to && to != q)
        quarry_close(to);
    quarry_table_info_free(like);
    if (made)
        *made = created;
    return rc;
}
