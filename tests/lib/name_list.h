/* Names in the order they were first asked for: histories number the objects
 * they are about. */
#ifndef TESTS_LIB_NAME_LIST_H
#define TESTS_LIB_NAME_LIST_H

#include <stddef.h>

/* All zero: none. */
struct name_list {
    char **names; /* Owned, as the array is. */
    size_t count;
};

/* The number of @name, which is added if it is new; a copy is kept. */
size_t name_list_find(struct name_list *l, const char *name);
void name_list_close(struct name_list *l);

#endif
