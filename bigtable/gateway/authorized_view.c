/* The message of a view is walked for each question: views have a few prefixes,
 * and a request asks few questions. A view's filter is an interleave of ranges
 * of columns that do not overlap, so that no cell comes twice.
 */
#include "bigtable/gateway/authorized_view.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/admin_view.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/gateway/request_rows.h"
#include "bigtable/gateway/resource_names.h"
#include "bigtable/quarry.h"
#include "bigtable/row/mutation.h"

struct authorized_view {
    struct slice name;   /* Borrowed, of the request. */
    struct buf message;  /* AuthorizedView, as it is kept. */
    struct slice subset; /* Its SubsetView; of `message`. */
};

int authorized_view_open(struct gateway *g,
                         struct slice name,
                         struct slice *table,
                         struct authorized_view **out,
                         struct err *err)
{
    struct resource_name n;
    struct authorized_view *v;
    int rc;
    *out = NULL;
    if (name.len == 0)
        return 0;
    rc = resource_name_parse(name, &n, err);
    if (rc == 0 && (!slice_eq_str(n.kind, "tables") ||
                    !slice_eq_str(n.sub_kind, "authorizedViews")))
        rc = err_set(err, ERR_INVALID,
                     "\"%.*s\": expected projects/…/instances/…/tables/…/"
                     "authorizedViews/…",
                     SLICE_ARG(slice_sub(name, 0, 200)));
    if (rc)
        return rc;
    v = mem_zalloc(1, sizeof(*v));
    v->name = name;
    rc = admin_authorized_view_get(g, &n, &v->message, err);
    if (rc) {
        authorized_view_close(v);
        return rc;
    }
    v->subset = pb_find(buf_slice(&v->message), PB_AuthorizedView_subset_view);
    *table = slice_make(name.data, (size_t)(n.id.data + n.id.len - name.data));
    *out = v;
    return 0;
}

void authorized_view_close(struct authorized_view *v)
{
    if (!v)
        return;
    buf_close(&v->message);
    mem_free(v);
}

/* --- rows ---------------------------------------------------------------- */

/* Does @s begin with one of the fields @number of @message? */
static bool has_prefix_of(struct slice message, unsigned number, struct slice s)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, number) && slice_starts_with(s, f.bytes))
            return true;
    return false;
}

bool authorized_view_has_row(const struct authorized_view *v, struct slice row)
{
    return !v || has_prefix_of(v->subset, PB_SubsetView_row_prefixes, row);
}

/* The range of the rows that begin with @prefix, of which @a has the bytes. */
static struct quarry_range range_of_prefix(struct arena *a, struct slice prefix)
{
    struct quarry_range r = {prefix, SLICE_EMPTY};
    size_t len = prefix.len;
    char *end;
    while (len && (unsigned char)prefix.data[len - 1] == 0xff)
        len--;
    if (len == 0)
        return r;
    end = arena_alloc(a, len);
    memcpy(end, prefix.data, len);
    end[len - 1]++;
    POST(slice_cmp(prefix, slice_make(end, len)) < 0);
    r.end = slice_make(end, len);
    return r;
}

static struct slice least_end(struct slice a, struct slice b)
{
    if (a.len == 0 || b.len == 0)
        return a.len ? a : b;
    return slice_cmp(a, b) < 0 ? a : b;
}

/* Append what @a and @b share to @ranges. */
static void put_shared(struct buf *ranges,
                       const struct quarry_range *a,
                       const struct quarry_range *b)
{
    struct quarry_range r = {slice_cmp(a->start, b->start) > 0 ? a->start
                                                               : b->start,
                             least_end(a->end, b->end)};
    if (r.end.len == 0 || slice_cmp(r.start, r.end) < 0)
        buf_append(ranges, &r, sizeof(r));
}

static void limit_ranges(const struct authorized_view *v,
                         struct request_rows *rows,
                         bool all)
{
    const struct quarry_range whole = {SLICE_EMPTY, SLICE_EMPTY};
    struct cursor c = cursor_make(v->subset);
    struct buf ranges = BUF_INIT;
    struct pb_field f;
    while (pb_next(&c, &f)) {
        struct quarry_range prefix;
        if (!pb_is_bytes(&f, PB_SubsetView_row_prefixes))
            continue;
        prefix = range_of_prefix(&rows->made, f.bytes);
        for (size_t i = 0; i < rows->range_count; i++)
            put_shared(&ranges, &rows->ranges[i], &prefix);
        if (all)
            put_shared(&ranges, &whole, &prefix);
    }
    mem_free(rows->ranges);
    rows->range_count = ranges.len / sizeof(struct quarry_range);
    rows->ranges = (void *)buf_take(&ranges);
}

void authorized_view_limit_rows(const struct authorized_view *v,
                                struct request_rows *rows)
{
    bool all = rows->key_count == 0 && rows->range_count == 0 && !rows->none;
    size_t kept = 0;
    if (!v)
        return;
    for (size_t i = 0; i < rows->key_count; i++)
        if (authorized_view_has_row(v, rows->keys[i]))
            rows->keys[kept++] = rows->keys[i];
    POST(kept <= rows->key_count);
    rows->key_count = kept;
    limit_ranges(v, rows, all);
    rows->none = rows->key_count == 0 && rows->range_count == 0;
}

/* --- columns ------------------------------------------------------------- */

/* The FamilySubsets of @family; false: the view has none of it. */
static bool find_family(const struct authorized_view *v,
                        struct slice family,
                        struct slice *subsets)
{
    struct cursor c = cursor_make(v->subset);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_SubsetView_family_subsets) &&
            slice_eq(pb_find(f.bytes, PB_FamilySubsetsEntry_key), family)) {
            *subsets = pb_find(f.bytes, PB_FamilySubsetsEntry_value);
            return true;
        }
    return false;
}

static bool
has_qualifier(struct slice subsets, unsigned number, struct slice qualifier)
{
    struct cursor c = cursor_make(subsets);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, number) && slice_eq(f.bytes, qualifier))
            return true;
    return false;
}

static bool has_column(const struct authorized_view *v,
                       struct slice family,
                       struct slice qualifier)
{
    struct slice subsets;
    return find_family(v, family, &subsets) &&
           (has_prefix_of(subsets, PB_FamilySubsets_qualifier_prefixes,
                          qualifier) ||
            has_qualifier(subsets, PB_FamilySubsets_qualifiers, qualifier));
}

/* Has the view all of @family, by an empty prefix? */
static bool has_family(const struct authorized_view *v, struct slice family)
{
    struct slice subsets;
    return find_family(v, family, &subsets) &&
           has_qualifier(subsets, PB_FamilySubsets_qualifier_prefixes,
                         SLICE_EMPTY);
}

/* --- filters ------------------------------------------------------------- */

static void add_part(struct buf *parts, struct quarry_filter *part)
{
    buf_append(parts, &part, sizeof(part));
}

/* Is @prefix longer than another of @subsets that it begins with, or one that
 * came before it? Then that one has its columns. */
static bool is_covered(struct slice subsets, struct slice prefix)
{
    struct cursor c = cursor_make(subsets);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_FamilySubsets_qualifier_prefixes) &&
            slice_starts_with(prefix, f.bytes) &&
            (f.bytes.len < prefix.len || f.bytes.data < prefix.data))
            return true;
    return false;
}

static bool came_before(struct slice subsets, struct slice qualifier)
{
    struct cursor c = cursor_make(subsets);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_FamilySubsets_qualifiers) &&
            f.bytes.data < qualifier.data && slice_eq(f.bytes, qualifier))
            return true;
    return false;
}

static struct quarry_filter *prefix_filter(const char *family,
                                           struct slice prefix)
{
    struct arena a;
    struct quarry_range r;
    struct quarry_filter *filter;
    arena_init(&a);
    r = range_of_prefix(&a, prefix);
    filter = quarry_filter_column_range(
        family, QUARRY_CLOSED, prefix,
        r.end.len ? QUARRY_OPEN : QUARRY_UNBOUNDED, r.end);
    arena_close(&a);
    return filter;
}

static void add_family_parts(struct buf *parts, struct slice entry)
{
    struct slice subsets = pb_find(entry, PB_FamilySubsetsEntry_value);
    struct cursor c = cursor_make(subsets);
    char family[REQUEST_FAMILY_BYTES_MAX + 1];
    struct pb_field f;
    if (request_family(pb_find(entry, PB_FamilySubsetsEntry_key), family, NULL))
        return;
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, PB_FamilySubsets_qualifier_prefixes)) {
            if (!is_covered(subsets, f.bytes))
                add_part(parts, prefix_filter(family, f.bytes));
        } else if (pb_is_bytes(&f, PB_FamilySubsets_qualifiers) &&
                   !has_prefix_of(subsets, PB_FamilySubsets_qualifier_prefixes,
                                  f.bytes) &&
                   !came_before(subsets, f.bytes)) {
            add_part(parts,
                     quarry_filter_column_range(family, QUARRY_CLOSED, f.bytes,
                                                QUARRY_CLOSED, f.bytes));
        }
    }
}

void authorized_view_limit_filter(const struct authorized_view *v,
                                  struct quarry_filter **filter)
{
    struct buf parts = BUF_INIT;
    struct quarry_filter *chain[2];
    struct cursor c;
    struct pb_field f;
    size_t count;
    if (!v)
        return;
    c = cursor_make(v->subset);
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_SubsetView_family_subsets))
            add_family_parts(&parts, f.bytes);
    count = parts.len / sizeof(struct quarry_filter *);
    INVARIANT(count * sizeof(struct quarry_filter *) == parts.len);
    if (count == 0)
        chain[0] = quarry_filter_block_all();
    else if (count == 1)
        memcpy(&chain[0], parts.data, sizeof(chain[0]));
    else
        chain[0] = quarry_filter_interleave(
            (struct quarry_filter **)(void *)parts.data, count);
    chain[1] = *filter;
    *filter = *filter ? quarry_filter_chain(chain, 2) : chain[0];
    buf_close(&parts);
}

/* --- changes ------------------------------------------------------------- */

/* In the words of the service, which clients look for. */
static int view_deny(const struct authorized_view *v, struct err *err)
{
    return err_set(
        err, ERR_DENIED,
        "Cannot mutate from %.*s because the mutation contains cells "
        "outside the Authorized View.",
        SLICE_ARG(v->name));
}

int authorized_view_check_column(const struct authorized_view *v,
                                 struct slice row,
                                 struct slice family,
                                 struct slice qualifier,
                                 struct err *err)
{
    if (!v)
        return 0;
    if (!authorized_view_has_row(v, row))
        return view_deny(v, err);
    return has_column(v, family, qualifier) ? 0 : view_deny(v, err);
}

int authorized_view_check(const struct authorized_view *v,
                          const struct quarry_mutation *m,
                          struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    if (!v)
        return 0;
    if (!authorized_view_has_row(v, buf_slice(&m->row)))
        return view_deny(v, err);
    while (mutation_next(&c, &op)) {
        if (mutation_kind_is_of_row(op.kind))
            return view_deny(v, err);
        if (op.kind == MUTATION_DELETE_FAMILY) {
            if (!has_family(v, op.family))
                return view_deny(v, err);
        } else if (!has_column(v, op.family, op.qualifier)) {
            return view_deny(v, err);
        }
    }
    return 0;
}
