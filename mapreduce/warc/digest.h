/* Digests as archives label them (ISO 28500, section 5.8): "sha1:" and base32,
 * or base16, and the many ways in which writers differ. Compared as bytes.
 * Pure. */
#ifndef MAPREDUCE_WARC_DIGEST_H
#define MAPREDUCE_WARC_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

#define DIGEST_BYTES_MAX 64
#define DIGEST_TEXT_MAX  160

enum digest_kind {
    DIGEST_NONE,
    DIGEST_MD5,
    DIGEST_SHA1,
    DIGEST_SHA256,
    DIGEST_SHA512,
};

struct digest {
    enum digest_kind kind;
    size_t len;
    unsigned char bytes[DIGEST_BYTES_MAX];
};

enum digest_answer {
    DIGEST_UNKNOWN, /* No label, or an algorithm that is not supported. */
    DIGEST_SAME,
    DIGEST_DIFFERENT,
};

/* Parse "sha1:BASE32", "SHA-256:hex", "md5=…" or, bare, 32 characters of base32
 * or 40 of base16 as sha1. False: malformed. */
bool digest_parse(struct slice label, struct digest *d);

void digest_of(enum digest_kind kind, struct slice data, struct digest *d);

/* A digest of data that comes in pieces. Owned: digest_stream_end(). PRE: @kind
 * is an algorithm. */
struct digest_stream;
struct digest_stream *digest_stream_new(enum digest_kind kind);
void digest_stream_add(struct digest_stream *s, struct slice data);
/* Put the digest of all data into @d, unless NULL, and free @s. */
void digest_stream_end(struct digest_stream *s, struct digest *d);

/* "sha256:" and digits of base16. Returns its length. */
size_t digest_format_hex(const struct digest *d, char out[DIGEST_TEXT_MAX]);

/* Is @label the digest of @data? */
enum digest_answer digest_check(struct slice label, struct slice data);

bool digest_eq(const struct digest *a, const struct digest *b);

/* "sha1:BASE32", as crawlers write it. Returns its length. */
size_t digest_format(const struct digest *d, char out[DIGEST_TEXT_MAX]);

#endif /* MAPREDUCE_WARC_DIGEST_H */
