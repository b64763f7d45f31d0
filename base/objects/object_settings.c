/* Variables come first, then the profile's credentials, then its settings, as
 * with AWS's tools.
 */
#include "base/objects/object_settings.h"

#include <jansson.h>
#include <openssl/crypto.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/crypt/master_command.h"
#include "base/objects/aws_file.h"
#include "base/runtime/world.h"

#define ATTEMPTS        8
#define CONNECTIONS     16
#define REGION          "us-east-1"
#define KEYS_TEXT_BYTES ((size_t)65536)

/* The sources of settings, while they are read. */
struct sources {
    object_variable variable;
    struct buf credentials; /* The two files. */
    struct buf config;
    struct buf profile; /* Its name in the first file, */
    struct buf section; /* and in the second. */
};

static const char *variable_of(const struct sources *s, const char *name)
{
    const char *value = s->variable(name);
    return value && *value ? value : NULL;
}

/* --- files --------------------------------------------------------------- */

static int read_settings_file(struct world *w,
                              const char *path,
                              struct buf *out,
                              struct err *err)
{
    struct file *f;
    uint64_t size = 0;
    size_t got = 0;
    int rc = file_open(w, path, FILE_READ, &f, err);
    if (rc == ERR_NOTFOUND)
        return 0;
    if (rc)
        return rc;
    rc = file_size(f, &size, err);
    if (rc == 0 && size > AWS_FILE_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "%s: over %zu bytes", path,
                     AWS_FILE_BYTES_MAX);
    if (rc == 0)
        rc = file_read_at(f, 0, buf_extend(out, (size_t)size), (size_t)size,
                          &got, err);
    buf_truncate(out, rc ? 0 : got);
    file_close(f);
    return rc;
}

static int read_one(struct world *w,
                    const struct sources *s,
                    const char *variable,
                    const char *below_home,
                    struct buf *out,
                    struct err *err)
{
    const char *path = variable_of(s, variable);
    const char *home = variable_of(s, "HOME");
    struct buf name = BUF_INIT;
    int rc = 0;
    if (path)
        buf_append_str(&name, path);
    else if (home)
        buf_printf(&name, "%s/.aws/%s", home, below_home);
    if (name.len > 0)
        rc = read_settings_file(w, buf_cstr(&name), out, err);
    buf_close(&name);
    return rc;
}

static int sources_open(struct world *w, struct sources *s, struct err *err)
{
    const char *profile = variable_of(s, "AWS_PROFILE");
    int rc = read_one(w, s, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
                      &s->credentials, err);
    if (rc == 0)
        rc = read_one(w, s, "AWS_CONFIG_FILE", "config", &s->config, err);
    buf_append_str(&s->profile, profile ? profile : "default");
    if (profile && strcmp(profile, "default") != 0)
        buf_append_str(&s->section, "profile ");
    buf_append_slice(&s->section, buf_slice(&s->profile));
    return rc;
}

static void sources_close(struct sources *s)
{
    if (s->credentials.data)
        OPENSSL_cleanse(s->credentials.data, s->credentials.cap);
    buf_close(&s->credentials);
    buf_close(&s->config);
    buf_close(&s->profile);
    buf_close(&s->section);
}

/* @name of the profile, in either file. Owned; NULL: not set. */
static char *profile_value(struct sources *s, const char *name)
{
    struct buf value = BUF_INIT;
    aws_file_get(buf_slice(&s->credentials), buf_cstr(&s->profile), name,
                 &value);
    if (value.len == 0)
        aws_file_get(buf_slice(&s->config), buf_cstr(&s->section), name,
                     &value);
    if (value.len > 0)
        return buf_take(&value);
    buf_close(&value);
    return NULL;
}

/* The first of the variables @names, which end with NULL, that is set, or
 * @setting of the profile. */
static char *
value_of(struct sources *s, const char *const *names, const char *setting)
{
    for (size_t i = 0; names[i]; i++) {
        const char *value = variable_of(s, names[i]);
        if (value)
            return mem_strdup(value);
    }
    return setting ? profile_value(s, setting) : NULL;
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- settings ------------------------------------------------------------ */

static int number_of(const struct sources *s,
                     const char *name,
                     unsigned most,
                     unsigned *out,
                     struct err *err)
{
    const char *text = variable_of(s, name);
    uint64_t n = 0;
    int rc = text ? text_parse_u64(slice_str(text), &n, err) : 0;
    if (rc)
        err_wrap(err, "%s", name);
    else if (text && (n == 0 || n > most))
        rc = err_set(err, ERR_INVALID, "%s: %s is not between 1 and %u", name,
                     text, most);
    else if (text)
        *out = (unsigned)n;
    return rc;
}

static int
take_addressing(struct sources *s, struct object_settings *out, struct err *err)
{
    char *style =
        value_of(s, NAMES("QUARRY_S3_ADDRESSING"), "s3.addressing_style");
    int rc = 0;
    if (style && strcmp(style, "auto") != 0) {
        out->addressing_is_set = true;
        out->virtual_hosts = strcmp(style, "virtual") == 0;
        if (!out->virtual_hosts && strcmp(style, "path") != 0)
            rc = err_set(err, ERR_INVALID,
                         "QUARRY_S3_ADDRESSING: %s is neither path nor virtual",
                         style);
    }
    mem_free(style);
    return rc;
}

/* Keys of the environment belong together, and so do those of a file. */
static void take_keys(struct sources *s, struct object_settings *out)
{
    const char *access = variable_of(s, "AWS_ACCESS_KEY_ID");
    const char *secret = variable_of(s, "AWS_SECRET_ACCESS_KEY");
    const char *token = variable_of(s, "AWS_SESSION_TOKEN");
    struct object_keys *k = &out->keys;
    k->expires_us = UINT64_MAX;
    if (access && secret) {
        k->access = mem_strdup(access);
        k->secret = mem_strdup(secret);
        k->token = token ? mem_strdup(token) : NULL;
        return;
    }
    k->access = profile_value(s, "aws_access_key_id");
    k->secret = profile_value(s, "aws_secret_access_key");
    k->token = profile_value(s, "aws_session_token");
    out->command = profile_value(s, "credential_process");
    if (!k->access || !k->secret)
        object_keys_close(k);
}

static int check_endpoint(const char *url, struct err *err)
{
    struct slice s = slice_str(url ? url : "https://");
    if (slice_starts_with(s, SLICE_LIT("https://")) ||
        slice_starts_with(s, SLICE_LIT("http://")))
        return 0;
    return err_set(err, ERR_INVALID,
                   "AWS_ENDPOINT_URL: %s begins with neither http:// nor "
                   "https://",
                   url);
}

static bool is_yes(const char *text)
{
    bool yes = false;
    if (text)
        (void)!text_parse_bool(slice_str(text), &yes, NULL);
    return yes;
}

int object_settings_read(struct world *w,
                         object_variable variable,
                         struct object_settings *out,
                         struct err *err)
{
    struct sources s = {.variable = variable};
    int rc;
    *out = (struct object_settings){.attempts = ATTEMPTS,
                                    .connections = CONNECTIONS};
    rc = sources_open(w, &s, err);
    if (rc == 0) {
        take_keys(&s, out);
        out->region =
            value_of(&s, NAMES("AWS_REGION", "AWS_DEFAULT_REGION"), "region");
        out->endpoint =
            value_of(&s, NAMES("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
                     "endpoint_url");
        out->authority = value_of(&s, NAMES("AWS_CA_BUNDLE"), "ca_bundle");
        out->anonymous = is_yes(variable_of(&s, "AWS_NO_SIGN_REQUEST"));
        rc = take_addressing(&s, out, err);
    }
    if (rc == 0 && !out->region)
        out->region = mem_strdup(REGION);
    if (rc == 0)
        rc = check_endpoint(out->endpoint, err);
    if (rc == 0)
        rc = number_of(&s, "AWS_MAX_ATTEMPTS", OBJECT_ATTEMPTS_MAX,
                       &out->attempts, err);
    if (rc == 0)
        rc = number_of(&s, "QUARRY_S3_CONNECTIONS", OBJECT_CONNECTIONS_MAX,
                       &out->connections, err);
    sources_close(&s);
    return rc;
}

void object_settings_close(struct object_settings *s)
{
    object_keys_close(&s->keys);
    mem_free(s->command);
    mem_free(s->region);
    mem_free(s->endpoint);
    mem_free(s->authority);
    *s = (struct object_settings){.command = NULL};
}

/* --- keys ---------------------------------------------------------------- */

void object_keys_close(struct object_keys *k)
{
    if (k->secret)
        OPENSSL_cleanse(k->secret, strlen(k->secret));
    mem_free(k->access);
    mem_free(k->secret);
    mem_free(k->token);
    k->access = k->secret = k->token = NULL;
}

static char *copy_of(const char *text)
{
    return text && *text ? mem_strdup(text) : NULL;
}

int object_keys_parse(struct slice json,
                      struct object_keys *out,
                      struct err *err)
{
    json_error_t why;
    json_t *root = json_loadb(json.data ? json.data : "", json.len,
                              JSON_REJECT_DUPLICATES, &why);
    const char *until = json_string_value(json_object_get(root, "Expiration"));
    int64_t us = 0;
    int rc = 0;
    *out = (struct object_keys){.expires_us = UINT64_MAX};
    if (json_integer_value(json_object_get(root, "Version")) != 1)
        rc = err_set(err, ERR_INVALID, "it printed no JSON of \"Version\": 1");
    else if (until && (text_parse_time(slice_str(until), &us, NULL) || us < 0))
        rc = err_set(err, ERR_INVALID, "its Expiration is no time");
    if (rc == 0) {
        out->access =
            copy_of(json_string_value(json_object_get(root, "AccessKeyId")));
        out->secret = copy_of(
            json_string_value(json_object_get(root, "SecretAccessKey")));
        out->token =
            copy_of(json_string_value(json_object_get(root, "SessionToken")));
        if (until)
            out->expires_us = (uint64_t)us;
        if (!out->access || !out->secret)
            rc = err_set(err, ERR_INVALID,
                         "it printed no AccessKeyId and SecretAccessKey");
    }
    json_decref(root);
    if (rc)
        object_keys_close(out);
    return rc;
}

int object_keys_get(const struct object_settings *s,
                    struct object_keys *out,
                    struct err *err)
{
    char *text;
    size_t len = 0;
    int rc;
    *out = (struct object_keys){.expires_us = UINT64_MAX};
    if (s->keys.access) {
        out->access = copy_of(s->keys.access);
        out->secret = copy_of(s->keys.secret);
        out->token = copy_of(s->keys.token);
        return 0;
    }
    if (!s->command) {
        err_set(err, ERR_DENIED, "there are no keys to sign requests to S3");
        err_hint(err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                      "AWS_PROFILE to a profile of ~/.aws/credentials; "
                      "AWS_NO_SIGN_REQUEST=true for public buckets");
        return ERR_DENIED;
    }
    text = mem_alloc(KEYS_TEXT_BYTES);
    rc = master_command_run(s->command, text, KEYS_TEXT_BYTES, &len, err);
    if (rc == 0)
        rc = object_keys_parse(slice_make(text, len), out, err);
    if (rc)
        err_wrap(err, "credential_process");
    OPENSSL_cleanse(text, len);
    mem_free(text);
    return rc;
}
