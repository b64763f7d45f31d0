/* Requests are signed as the examples in the reference of S3 are ("Signature
 * Calculations for the Authorization Header"). */
#include <string.h>

#include "base/core/buf.h"
#include "base/objects/sigv4.h"
#include "tests/lib/check_main.h"

#define HOST       "examplebucket.s3.amazonaws.com"
#define ACCESS_KEY "AKIAIOSFODNN7EXAMPLE"
#define SECRET_KEY "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define TIME       "20130524T000000Z"

static void check_signature(const char *method,
                            const char *path,
                            const char *query,
                            const struct sigv4_header *headers,
                            size_t count,
                            const char *body,
                            const char *want)
{
    char hash[SIGV4_HASH_TEXT];
    struct buf out = BUF_INIT;
    struct sigv4_request r = {.method = method,
                              .path = path,
                              .query = query,
                              .headers = headers,
                              .header_count = count,
                              .body_hash = hash,
                              .time = TIME,
                              .region = "us-east-1",
                              .access_key = ACCESS_KEY,
                              .secret_key = SECRET_KEY};
    sigv4_hash(slice_str(body), hash);
    sigv4_put(&r, &out);
    ck_assert_str_eq(buf_cstr(&out), want);
    buf_close(&out);
}

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define BEGIN                                                                  \
    "AWS4-HMAC-SHA256 Credential=" ACCESS_KEY                                  \
    "/20130524/us-east-1/s3/aws4_request,"

START_TEST(test_a_range)
{
    const struct sigv4_header headers[] = {{"host", HOST},
                                           {"range", "bytes=0-9"},
                                           {"x-amz-content-sha256", EMPTY},
                                           {"x-amz-date", TIME}};
    check_signature(
        "GET", "/test.txt", "", headers, 4, "",
        BEGIN "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
              "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039"
              "c6036bdb41");
}

END_TEST

START_TEST(test_a_body)
{
    const struct sigv4_header headers[] = {
        {"date", "Fri, 24 May 2013 00:00:00 GMT"},
        {"host", HOST},
        {"x-amz-content-sha256",
         "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
        {"x-amz-date", TIME},
        {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
    check_signature(
        "PUT", "/test%24file.text", "", headers, 5, "Welcome to Amazon S3.",
        BEGIN "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;"
              "x-amz-storage-class,"
              "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971a"
              "f0ece108bd");
}

END_TEST

START_TEST(test_queries)
{
    const struct sigv4_header headers[] = {
        {"host", HOST}, {"x-amz-content-sha256", EMPTY}, {"x-amz-date", TIME}};
    check_signature(
        "GET", "/", "lifecycle=", headers, 3, "",
        BEGIN "SignedHeaders=host;x-amz-content-sha256;x-amz-date,"
              "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a"
              "0136783543");
    check_signature(
        "GET", "/", "max-keys=2&prefix=J", headers, 3, "",
        BEGIN "SignedHeaders=host;x-amz-content-sha256;x-amz-date,"
              "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed571"
              "1ef69dc6f7");
}

END_TEST

START_TEST(test_times)
{
    char text[SIGV4_TIME_TEXT];
    sigv4_time(UINT64_C(1369353600) * 1000000, text);
    ck_assert_str_eq(text, TIME);
    sigv4_time(UINT64_C(1709251199) * 1000000 + 999999, text);
    ck_assert_str_eq(text, "20240229T235959Z");
}

END_TEST

TEST_MAIN("sigv4", test_a_range, test_a_body, test_queries, test_times)
