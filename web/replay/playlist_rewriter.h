/* Playlists of films in pieces: HLS (RFC 8216) and MPEG-DASH (ISO 23009-1).
 * Their links lead into the archive, and of the variants of a film only those
 * remain that were archived: a player chooses by the width of its line, and a
 * crawler fetched one or two. Where none is known to be archived, the best one
 * remains, which is what pywb and wabac.js leave to players while they record.
 *
 * Relative links of DASH stay: its <BaseURL> elements stand before each other.
 * The text is read twice and written as it is read. Threads: one.
 */
#ifndef WEB_REPLAY_PLAYLIST_REWRITER_H
#define WEB_REPLAY_PLAYLIST_REWRITER_H

#include "web/replay/byte_sink.h"
#include "web/replay/link_rewriter.h"

enum playlist_kind {
    PLAYLIST_NONE,
    PLAYLIST_HLS,
    PLAYLIST_DASH,
};

/* Variants that are looked at; more stay as they are. */
#define PLAYLIST_VARIANTS_MAX 256

struct playlist_options {
    struct link_rewriter *links;
    /* Was the absolute URL @url archived? May park. */
    bool (*is_archived)(void *ctx, struct slice url);
    void *ctx;
};

/* The kind of a body of the media type @media. */
enum playlist_kind playlist_kind_of(struct slice media, struct slice body);

/* Rewrite @text into @out. Parks where is_archived() does. */
void playlist_rewrite(const struct playlist_options *opts,
                      enum playlist_kind kind,
                      struct slice text,
                      struct byte_sink *out);

#endif /* WEB_REPLAY_PLAYLIST_REWRITER_H */
