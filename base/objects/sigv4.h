/* Signatures of requests to S3: AWS Signature Version 4, with the hash of the
 * body in the signature, so that a server refuses bytes that were changed on
 * the way.
 *
 * Pure, on OpenSSL's SHA-256 and HMAC. Threads: any.
 */
#ifndef BASE_OBJECTS_SIGV4_H
#define BASE_OBJECTS_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct buf;

#define SIGV4_HASH_BYTES 32
/* In hexadecimal digits, with the NUL. */
#define SIGV4_HASH_TEXT 65
/* "20130524T000000Z" with the NUL. */
#define SIGV4_TIME_TEXT 17

struct sigv4_header {
    const char *name; /* Lower case. */
    const char *value;
};

struct sigv4_request {
    const char *method;
    const char *path;  /* From the slash on, encoded. */
    const char *query; /* "a=1&b=" by name, encoded; "": none. */
    const struct sigv4_header *headers; /* By name; all are signed. */
    size_t header_count;
    const char *body_hash; /* sigv4_hash() of the body. */
    const char *time;      /* sigv4_time(). */
    const char *region;
    const char *access_key;
    const char *secret_key;
};

/* The SHA-256 of @body in hexadecimal digits. */
void sigv4_hash(struct slice body, char out[SIGV4_HASH_TEXT]);
/* @now_us, µs since 1970, as signatures have it. */
void sigv4_time(uint64_t now_us, char out[SIGV4_TIME_TEXT]);

/* Append the value of the header Authorization. */
void sigv4_put(const struct sigv4_request *r, struct buf *out);

#endif /* BASE_OBJECTS_SIGV4_H */
