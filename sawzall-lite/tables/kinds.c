/* The kinds of tables by name and by number; impl.h has the register. The
 * checker and the machine know kinds only through this. */
#include "base/core/macros.h"
#include "sawzall-lite/tables/impl.h"

#define ADDRESS(name) &saw_ops_##name,

static const struct saw_kind_ops *const kinds[] = {SAW_TABLE_KINDS(ADDRESS)};

const struct saw_table_traits *saw_table_traits_find(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (slice_eq_str(name, kinds[i]->traits.name))
            return &kinds[i]->traits;
    }
    return NULL;
}

const struct saw_table_traits *saw_table_traits_at(size_t index)
{
    return index < ARRAY_LEN(kinds) ? &kinds[index]->traits : NULL;
}

bool saw_traits_want_origin(const struct saw_table_traits *kind)
{
    return ((const struct saw_kind_ops *)kind)->wants_origin;
}
