/* The files in which users keep settings of AWS's tools: sections in brackets,
 * lines NAME = VALUE, and below a name without a value indented lines, which
 * are read as "NAME.BELOW".
 *
 * Pure. Threads: any.
 */
#ifndef BASE_OBJECTS_AWS_FILE_H
#define BASE_OBJECTS_AWS_FILE_H

#include "base/core/slice.h"

struct buf;

/* Longest file that is read. */
#define AWS_FILE_BYTES_MAX ((size_t)1 << 20)

/* Replace @out by the value of @name in the section @section of @text, the last
 * one if there are several; it is empty if there is none. */
void aws_file_get(struct slice text,
                  const char *section,
                  const char *name,
                  struct buf *out);

#endif /* BASE_OBJECTS_AWS_FILE_H */
