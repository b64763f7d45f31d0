/* Long text for people, a screen at a time. */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include "base/core/slice.h"

/* Print @text on standard output. Where that is a terminal and @text has more
 * lines than it, through the pager: $PAGER, or less. It is printed as it is
 * when $PAGER is empty, the terminal is dumb, or the pager cannot be run. Waits
 * for the pager's end; Ctrl-C meanwhile is for the pager alone. */
void pager_show(struct slice text);

#endif /* CLI_PAGER_H */
