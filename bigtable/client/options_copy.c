/* Copies of the options of a read, for calls that outlive their caller's
 * options: texts go into one arena, the filter is shared by reference.
 */
#include "bigtable/client/options_copy.h"

#include "bigtable/row/filter.h"

static const char *const *
copy_names(struct arena *a, const char *const *names, size_t count)
{
    const char **copy = arena_zalloc(a, (count + 1) * sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(a, names[i]);
    return copy;
}

int options_copy_init(struct options_copy *c,
                      const struct quarry_read_options *opts,
                      struct err *err)
{
    struct quarry_read_options *o = &c->options;
    int rc = opts && opts->filter ? filter_check(opts->filter, err) : 0;
    *c = (struct options_copy){.filter = NULL};
    if (rc)
        return rc;
    arena_init(&c->arena);
    if (!opts)
        return 0;
    *o = *opts;
    o->ranges = NULL;
    o->keys = NULL;
    o->range_count = o->key_count = 0;
    if (opts->filter)
        o->filter = c->filter = filter_ref(opts->filter);
    o->families = copy_names(&c->arena, opts->families, opts->family_count);
    if (opts->column_regex)
        o->column_regex = arena_strdup(&c->arena, opts->column_regex);
    if (opts->program)
        o->program =
            arena_dup(&c->arena, slice_make(opts->program, opts->program_len))
                .data;
    return 0;
}

void options_copy_close(struct options_copy *c)
{
    filter_unref(c->filter);
    arena_close(&c->arena);
}
