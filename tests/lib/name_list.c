/* A list that is searched from its start: histories have a few names. */
#include "tests/lib/name_list.h"

#include <string.h>

#include "base/core/panic.h"

size_t name_list_find(struct name_list *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->names[i], name) == 0)
            return i;
    l->names = mem_realloc(l->names, (l->count + 1) * sizeof(*l->names));
    l->names[l->count] = mem_strdup(name);
    return l->count++;
}

void name_list_close(struct name_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        mem_free(l->names[i]);
    mem_free(l->names);
}
