/* A deletion of a family deletes all that the other end has of it, whatever
 * columns are sent, and a deletion of a row all families that are.
 */
#include "bigtable/replication/replication_rules.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/regex/regex.h"
#include "bigtable/row/schema.h" /* FAMILY_NAME_BYTES_MAX */

static int take_families(struct replication_rules *r,
                         const struct quarry_replication_spec *s,
                         struct err *err)
{
    r->families = mem_zalloc(s->family_count + 1, sizeof(*r->families));
    for (size_t i = 0; i < s->family_count; i++) {
        const struct quarry_replication_family *f = &s->families[i];
        r->families[i].from = mem_strdup(f->from);
        r->families[i].to = mem_strdup(f->to ? f->to : f->from);
        r->family_count++;
        for (size_t k = 0; k < i; k++)
            if (strcmp(r->families[k].from, f->from) == 0 ||
                strcmp(r->families[k].to, r->families[i].to) == 0)
                return err_set(err, ERR_INVALID,
                               "the families %s and %s are one, here or at "
                               "the other end",
                               r->families[k].from, f->from);
    }
    return 0;
}

int replication_rules_init(struct replication_rules *r,
                           const struct quarry_replication_spec *s,
                           struct err *err)
{
    int rc;
    *r = (struct replication_rules){.no_deletions = s->no_deletions};
    rc = take_families(r, s, err);
    if (rc == 0 && s->qualifiers) {
        r->qualifiers = mem_strdup(s->qualifiers);
        rc = regex_new(slice_str(s->qualifiers), REGEX_BYTES, &r->expression,
                       err);
        if (rc)
            err_wrap(err, "qualifiers \"%s\"", s->qualifiers);
    }
    return rc;
}

void replication_rules_close(struct replication_rules *r)
{
    for (size_t i = 0; i < r->family_count; i++) {
        mem_free((void *)(uintptr_t)r->families[i].from);
        mem_free((void *)(uintptr_t)r->families[i].to);
    }
    mem_free(r->families);
    mem_free(r->qualifiers);
    regex_free(r->expression);
}

const char *replication_rules_family(const struct replication_rules *r,
                                     struct slice family,
                                     char *room)
{
    for (size_t i = 0; i < r->family_count; i++)
        if (slice_eq_str(family, r->families[i].from))
            return r->families[i].to;
    if (r->family_count || family.len > FAMILY_NAME_BYTES_MAX)
        return NULL;
    memcpy(room, family.data, family.len);
    room[family.len] = '\0';
    return room;
}

bool replication_rules_column(const struct replication_rules *r,
                              struct slice qualifier)
{
    return !r->expression || regex_full_match(r->expression, qualifier);
}

static void delete_row(const struct replication_rules *r,
                       struct quarry_mutation *m)
{
    if (r->family_count == 0)
        quarry_mutation_delete_row(m);
    for (size_t i = 0; i < r->family_count; i++)
        quarry_mutation_delete_family(m, r->families[i].to);
}

/* An entry of a column or of a family, which is called @to. */
static void apply_entry(const struct replication_rules *r,
                        const struct quarry_change_entry *e,
                        const char *to,
                        struct quarry_mutation *m)
{
    bool column = replication_rules_column(r, e->qualifier);
    switch (e->kind) {
    case QUARRY_CHANGE_SET:
        if (column)
            quarry_mutation_set(m, to, e->qualifier, e->timestamp_us, e->value);
        break;
    case QUARRY_CHANGE_ADD:
        if (column)
            quarry_mutation_add_bytes(m, to, e->qualifier, e->timestamp_us,
                                      e->value);
        break;
    case QUARRY_CHANGE_MERGE:
        if (column)
            quarry_mutation_merge(m, to, e->qualifier, e->timestamp_us,
                                  e->value);
        break;
    case QUARRY_CHANGE_DELETE_CELLS:
        if (column)
            quarry_mutation_delete_cells(m, to, e->qualifier, e->timestamp_us,
                                         e->max_us);
        break;
    case QUARRY_CHANGE_DELETE_FAMILY:
        quarry_mutation_delete_family(m, to);
        break;
    case QUARRY_CHANGE_DELETE_ROW: break;
    }
}

static bool is_deletion(enum quarry_change_kind kind)
{
    return kind != QUARRY_CHANGE_SET && kind != QUARRY_CHANGE_ADD &&
           kind != QUARRY_CHANGE_MERGE;
}

bool replication_rules_apply(const struct replication_rules *r,
                             const struct quarry_change *c,
                             struct quarry_mutation *m)
{
    size_t before = quarry_mutation_count(m);
    for (size_t i = 0; i < c->entry_count; i++) {
        const struct quarry_change_entry *e = &c->entries[i];
        char room[FAMILY_NAME_BYTES_MAX + 1];
        const char *to;
        if (is_deletion(e->kind) && r->no_deletions)
            continue;
        if (e->kind == QUARRY_CHANGE_DELETE_ROW) {
            delete_row(r, m);
            continue;
        }
        to = replication_rules_family(r, e->family, room);
        if (to)
            apply_entry(r, e, to, m);
    }
    return quarry_mutation_count(m) > before;
}
