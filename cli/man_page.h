/* Manual pages, made of the commands' own help. */
#ifndef CLI_MAN_PAGE_H
#define CLI_MAN_PAGE_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct buf;
struct command;

/* Append the page quarry(1), which lists the commands, as roff (man(7)). */
void man_page_overview(struct buf *out);
/* Append the page of @c, "quarry-table-create(1)". */
void man_page_command(struct buf *out, const struct command *c);
/* Write all of them as files of directory @dir, which must be there:
 * "quarry-table-create.1". ERR_IO. */
MUST_CHECK int man_pages_write(const char *dir, struct err *err);

#endif /* CLI_MAN_PAGE_H */
