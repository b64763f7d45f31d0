/* Addresses of the archive: "/web/20140126200624im_/http://host/path".
 *
 *     /web/URL                 the newest capture of URL
 *     /web/DATE/URL            the capture nearest to DATE, 1 to 14 digits
 *     /web/DATEmod_/URL        the same, for a certain use (enum replay_mod)
 *     /web/DATE* /URL          (without the blank) a calendar of captures
 *     /web/DATE* /URL*         a list of URLs that begin so
 *
 * Pure.
 */
#ifndef WEB_REPLAY_REPLAY_URL_H
#define WEB_REPLAY_REPLAY_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

/* The use that a capture is wanted for, as Wayback Machines name it. */
enum replay_mod {
    REPLAY_MOD_NONE,
    REPLAY_MOD_ID,  /* id_: the bytes as they were, nothing rewritten. */
    REPLAY_MOD_MP,  /* mp_: a page in the frame under the banner. */
    REPLAY_MOD_IF,  /* if_: a page in a frame of a page. */
    REPLAY_MOD_FR,  /* fr_: the same, of a frameset. */
    REPLAY_MOD_JS,  /* js_: a script. */
    REPLAY_MOD_ESM, /* esm_: a script that is a module. */
    REPLAY_MOD_CS,  /* cs_: a style sheet. */
    REPLAY_MOD_IM,  /* im_: an image. */
    REPLAY_MOD_OE,  /* oe_: another embedded file. */
};

#define REPLAY_DATE_DIGITS 14

struct replay_url {
    struct slice date; /* Digits, at most 14; "": the newest. */
    bool has_star;     /* A calendar or a list. */
    bool is_prefix;    /* The URL ended in a star, which is not part of it. */
    enum replay_mod mod;
    struct slice url; /* As it was sent, perhaps without a scheme. */
};

/* Split what stands behind "/web/". False: there is no URL. Borrowed. */
bool replay_url_parse(struct slice rest, struct replay_url *out);

/* "im_"; "" for none. */
const char *replay_mod_name(enum replay_mod mod);

/* Append the absolute URL that @url stands for: with a scheme (http), two
 * slashes behind it, normalised. False: it is none. */
bool replay_url_absolute(struct slice url, struct buf *out);

/* The instant that a date of 1 to 14 digits means: the end of the period it
 * names, as pywb takes it. False: it is no date. */
bool replay_date_parse(struct slice digits, int64_t *us);

#endif /* WEB_REPLAY_REPLAY_URL_H */
