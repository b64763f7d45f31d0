/* Fields of documents, for renderers: any may be missing or of another type,
 * and is then NULL, empty or not a number, never an error.
 *
 * Pure. Threads: any. Whatever is returned is borrowed from the document.
 */
#ifndef CLI_CONSOLE_PAGES_PAGE_FIELDS_H
#define CLI_CONSOLE_PAGES_PAGE_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

/* The field at @path, with points between names of nested objects:
 * "latency.read.p50_us". NULL: there is none, or it is null. @object may be
 * NULL. */
const json_t *page_field(const json_t *object, const char *path);
/* A string; NULL: the field is not one. */
const char *page_string(const json_t *object, const char *path);
/* A string, else "". */
const char *page_string_or_empty(const json_t *object, const char *path);
/* A number. False: it is not one; *out is NAN then. */
bool page_number(const json_t *object, const char *path, double *out);
/* The number, or @otherwise. */
double page_number_or(const json_t *object, const char *path, double otherwise);
/* True if the field is true. */
bool page_is_true(const json_t *object, const char *path);
/* An array; NULL, which has no entries, if the field is not one. */
const json_t *page_list(const json_t *object, const char *path);
/* The number of entries of the list. */
size_t page_list_size(const json_t *object, const char *path);
/* Does the field @path of @object hold this string? */
bool page_field_is(const json_t *object, const char *path, const char *value);

#endif /* CLI_CONSOLE_PAGES_PAGE_FIELDS_H */
