/* Finding an asset (style sheet, script, icon) by its name, in the table that
 * the build makes of console/assets. */
#include "cli/console/assets.h"

const struct console_asset *console_asset_find(struct slice name)
{
    for (const struct console_asset *a = console_assets; a->name; a++)
        if (slice_eq_str(name, a->name))
            return a;
    return NULL;
}
