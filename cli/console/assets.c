/* Finding an asset by its name. */
#include "cli/console/assets.h"

const struct console_asset *console_asset_find(struct slice name)
{
    for (const struct console_asset *a = console_assets; a->name; a++)
        if (slice_eq_str(name, a->name))
            return a;
    return NULL;
}
