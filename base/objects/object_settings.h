/* How S3 is reached and as whom: the environment variables of AWS's tools, and
 * for what they leave open the profile in ~/.aws/credentials and ~/.aws/config.
 *
 *     AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *     AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE
 *     AWS_REGION, AWS_DEFAULT_REGION
 *     AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_CA_BUNDLE
 *     AWS_MAX_ATTEMPTS, AWS_NO_SIGN_REQUEST
 *     QUARRY_S3_ADDRESSING (path or virtual), QUARRY_S3_CONNECTIONS
 *
 * Threads: any; settings do not change once read.
 */
#ifndef BASE_OBJECTS_OBJECT_SETTINGS_H
#define BASE_OBJECTS_OBJECT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct world;

#define OBJECT_ATTEMPTS_MAX    100
#define OBJECT_CONNECTIONS_MAX 64

/* The keys to sign with. Texts are owned. */
struct object_keys {
    char *access;
    char *secret;
    char *token;         /* NULL: none. */
    uint64_t expires_us; /* Wall clock; UINT64_MAX: never. */
};

/* Texts are owned; NULL: not set. */
struct object_settings {
    struct object_keys keys; /* `access` is NULL: ask the command. */
    char *command;           /* credential_process. */
    char *region;
    char *endpoint;
    char *authority; /* File of certificates to trust. */
    bool anonymous;  /* Requests are not signed. */
    bool virtual_hosts;
    bool addressing_is_set;
    unsigned attempts;    /* Of one request. */
    unsigned connections; /* And threads. */
};

/* The value of an environment variable; NULL: unset. Borrowed. */
typedef const char *(*object_variable)(const char *name);

/* Read them. Parks: files. In any case object_settings_close(). Errors:
 * ERR_INVALID (a number, an address), those of reading files that are there. */
MUST_CHECK int object_settings_read(struct world *w,
                                    object_variable variable,
                                    struct object_settings *out,
                                    struct err *err);
void object_settings_close(struct object_settings *s);

/* Replace @out by keys that are valid now: those of the settings, or of what
 * the command prints. Blocks the thread while the command runs. Errors:
 * ERR_DENIED: there are none, and the error says where they may be. */
MUST_CHECK int object_keys_get(const struct object_settings *s,
                               struct object_keys *out,
                               struct err *err);
/* The output of the command, as keys. Errors: ERR_INVALID. */
MUST_CHECK int
object_keys_parse(struct slice json, struct object_keys *out, struct err *err);
void object_keys_close(struct object_keys *k);

#endif /* BASE_OBJECTS_OBJECT_SETTINGS_H */
