/* Settings come from the environment first, then from the profile's files, and
 * keys from a command where it is all there is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/objects/aws_file.h"
#include "base/objects/object_settings.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

#define CREDENTIALS                                                            \
    "# a comment\n[default]\naws_access_key_id = A1\n"                         \
    "aws_secret_access_key=S/1=\n\n[ other ]\r\naws_access_key_id = A2\r\n"    \
    "aws_secret_access_key = S2\naws_session_token = T2\n[broken\nx\n"
#define CONFIG                                                                 \
    "[default]\nregion = eu-central-1\n"                                       \
    "s3 =\n  addressing_style = virtual\n  max = 1\nendpoint_url = "           \
    "http://h:1/\n"                                                            \
    "[profile other]\nregion = us-west-2\n"                                    \
    "[profile asks]\ncredential_process = echo '{\"Version\": 1, "             \
    "\"AccessKeyId\": \"A3\", \"SecretAccessKey\": \"S3\", "                   \
    "\"Expiration\": \"2030-01-01T00:00:00Z\"}'\n"

static const char *credentials_path;
static const char *config_path;
static const char *profile;
static const char *access_key;
static const char *attempts;

static const char *variable(const char *name)
{
    if (strcmp(name, "AWS_SHARED_CREDENTIALS_FILE") == 0)
        return credentials_path;
    if (strcmp(name, "AWS_CONFIG_FILE") == 0)
        return config_path;
    if (strcmp(name, "AWS_PROFILE") == 0)
        return profile;
    if (strcmp(name, "AWS_MAX_ATTEMPTS") == 0)
        return attempts;
    return strcmp(name, "AWS_ACCESS_KEY_ID") == 0 ||
                   strcmp(name, "AWS_SECRET_ACCESS_KEY") == 0
               ? access_key
               : NULL;
}

static char *write_text(const char *dir, const char *name, const char *text)
{
    struct buf path = BUF_INIT;
    FILE *f;
    buf_printf(&path, "%s/%s", dir, name);
    f = fopen(buf_cstr(&path), "w");
    ck_assert(f && fputs(text, f) >= 0);
    ck_assert_int_eq(fclose(f), 0);
    return buf_take(&path);
}

static void check_keys(struct world *w, const char *access, const char *region)
{
    struct object_settings s;
    struct object_keys k;
    ck_assert_int_eq(object_settings_read(w, variable, &s, NULL), 0);
    ck_assert_int_eq(object_keys_get(&s, &k, NULL), 0);
    ck_assert_str_eq(k.access, access);
    ck_assert_str_eq(s.region, region);
    object_keys_close(&k);
    object_settings_close(&s);
}

START_TEST(test_sources)
{
    const char *dir = test_tmpdir();
    struct world *w = world_real_new();
    struct object_settings s;
    struct object_keys k;
    char *a = write_text(dir, "credentials", CREDENTIALS);
    char *b = write_text(dir, "config", CONFIG);
    credentials_path = a;
    config_path = b;
    check_keys(w, "A1", "eu-central-1");
    profile = "other";
    check_keys(w, "A2", "us-west-2");
    profile = "asks";
    check_keys(w, "A3", "us-east-1");
    access_key = "A4"; /* The environment comes first. */
    check_keys(w, "A4", "us-east-1");
    access_key = NULL;
    profile = "none";
    ck_assert_int_eq(object_settings_read(w, variable, &s, NULL), 0);
    ck_assert_int_eq(object_keys_get(&s, &k, NULL), ERR_DENIED);
    object_settings_close(&s);
    profile = NULL;
    ck_assert_int_eq(object_settings_read(w, variable, &s, NULL), 0);
    ck_assert(s.addressing_is_set && s.virtual_hosts);
    ck_assert_str_eq(s.endpoint, "http://h:1/");
    object_settings_close(&s);
    attempts = "0";
    ck_assert_int_eq(object_settings_read(w, variable, &s, NULL), ERR_INVALID);
    object_settings_close(&s);
    free(a);
    free(b);
    world_free(w);
}

END_TEST

START_TEST(test_printed_keys)
{
    static const char *const refused[] = {
        "",
        "{}",
        "[1]",
        "{\"Version\":2}",
        "{\"Version\":1,\"AccessKeyId\":\"a\"}",
        "{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\","
        "\"Expiration\":\"soon\"}",
        "{\"Version\":1,\"AccessKeyId\":1,\"SecretAccessKey\":\"b\"}"};
    struct object_keys k;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        ck_assert_msg(object_keys_parse(slice_str(refused[i]), &k, NULL) ==
                          ERR_INVALID,
                      "%s", refused[i]);
    ck_assert_int_eq(
        object_keys_parse(
            SLICE_LIT("{\"Version\":1,\"AccessKeyId\":\"a\","
                      "\"SecretAccessKey\":\"b\",\"SessionToken\":\"c\"}"),
            &k, NULL),
        0);
    ck_assert_str_eq(k.token, "c");
    ck_assert_uint_eq(k.expires_us, UINT64_MAX);
    object_keys_close(&k);
}

END_TEST

START_TEST(test_files)
{
    struct buf v = BUF_INIT;
    struct slice text = SLICE_LIT(
        "x = outside\n[a]\nx = 1\n x = indented\n[b]\nx=2\n[a]\nx = 3 = 4\n"
        "g =\n  x = below\nh = 1\n  x = y\n");
    aws_file_get(text, "a", "x", &v);
    ck_assert_str_eq(buf_cstr(&v), "y");
    aws_file_get(text, "a", "g.x", &v);
    ck_assert_str_eq(buf_cstr(&v), "below");
    aws_file_get(text, "b", "x", &v);
    ck_assert_str_eq(buf_cstr(&v), "2");
    aws_file_get(text, "c", "x", &v);
    ck_assert_uint_eq(v.len, 0);
    buf_close(&v);
}

END_TEST

TEST_MAIN("object_settings", test_sources, test_printed_keys, test_files)
