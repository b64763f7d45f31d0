/* Texts that leave the house: what may be a secret is replaced by "(left
 * out)", and with --no-keys row keys by hashes, the same key by the same hash
 * within one bundle.
 *
 * Nothing that is packed is meant to hold a secret: documents have none. This
 * is for what slipped into logs and messages.
 *
 * Threads: one.
 */
#ifndef CLI_BUNDLE_SCRUB_H
#define CLI_BUNDLE_SCRUB_H

#include <jansson.h>
#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct scrub;
struct world;

/* *@out is owned. */
MUST_CHECK int
scrub_new(struct world *w, bool hash_keys, struct scrub **out, struct err *err);
void scrub_free(struct scrub *s); /* NULL is allowed. */

/* Texts to come may not have @secret. Short ones are ignored, and those
 * after the 256th. */
void scrub_add_secret(struct scrub *s, struct slice secret);
/* The lines of the file @path are secrets, if it can be read. */
void scrub_add_secret_file(struct scrub *s, const char *path);

enum scrub_form {
    SCRUB_LINES, /* Also what programs of jobs wrote is left out. */
    SCRUB_JSON,  /* Of scrub_document(), and still JSON afterwards. */
};

/* Append @text to @out without secrets. */
void scrub_text(struct scrub *s,
                struct slice text,
                enum scrub_form form,
                struct buf *out);
/* Replace in the texts of @doc what programs of jobs wrote, and, if keys are
 * hashed, the row keys in the fields that have some; texts to come have those
 * replaced as well. */
void scrub_document(struct scrub *s, json_t *doc);
/* How many secrets were replaced so far. */
size_t scrub_count(const struct scrub *s);

#endif /* CLI_BUNDLE_SCRUB_H */
