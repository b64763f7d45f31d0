/* The files below cli/console/assets/ and web/replay/assets/, built into the
 * program: style, script, pictures. */
#ifndef CLI_CONSOLE_ASSETS_H
#define CLI_CONSOLE_ASSETS_H

#include <stddef.h>

#include "base/core/slice.h"

struct console_asset {
    const char *name;   /* "console.css". */
    const char *type;   /* For Content-Type. */
    const char *digest; /* The first digits of its SHA-256. */
    const unsigned char *data;
    size_t len;
};

/* All of them, made by cmake/assets.cmake; the last has no name. */
extern const struct console_asset console_assets[];

/* The file @name, or NULL. */
const struct console_asset *console_asset_find(struct slice name);

#endif /* CLI_CONSOLE_ASSETS_H */
