/* Answers of WebHDFS are read as they are meant, and what has another form, or
 * names that lead elsewhere, is refused. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/objects/webhdfs_answer.h"
#include "tests/lib/check_main.h"

/* As a namenode of Hadoop 3.3.6 writes them. */
#define STATUS(name, type, length)                                             \
    "{\"accessTime\":1795542134124,\"blockSize\":134217728,"                   \
    "\"childrenNum\":0,\"fileId\":16387,\"group\":\"supergroup\","             \
    "\"length\":" length ",\"modificationTime\":1795542135436,"                \
    "\"owner\":\"quarry\",\"pathSuffix\":\"" name "\",\"permission\":\"644\"," \
    "\"replication\":2,\"storagePolicy\":0,\"type\":\"" type "\"}"
#define PAGE(entries, left)                                                    \
    "{\"DirectoryListing\":{\"partialListing\":{\"FileStatuses\":"             \
    "{\"FileStatus\":[" entries "]}},\"remainingEntries\":" left "}}"

static int parse_page(const char *json, struct webhdfs_page *page)
{
    return webhdfs_page_parse(slice_str(json), page, NULL);
}

START_TEST(test_a_status)
{
    struct webhdfs_status s;
    ck_assert_int_eq(webhdfs_status_parse(SLICE_LIT("{\"FileStatus\":" STATUS(
                                              "", "FILE", "5") "}"),
                                          &s, NULL),
                     0);
    ck_assert(!s.is_directory);
    ck_assert_uint_eq(s.size_bytes, 5);
    ck_assert_uint_eq(s.id, 16387);
    ck_assert_uint_eq(s.replication, 2);
    ck_assert_uint_eq(s.modified_us, UINT64_C(1795542135436000));
    webhdfs_status_close(&s);
}

END_TEST

START_TEST(test_pages)
{
    struct webhdfs_page p;
    ck_assert_int_eq(parse_page(PAGE(STATUS("a b", "FILE", "7") "," STATUS(
                                         "d", "DIRECTORY", "0"),
                                     "3"),
                                &p),
                     0);
    ck_assert_uint_eq(p.count, 2);
    ck_assert_str_eq(p.entries[0].name, "a b");
    ck_assert(p.entries[1].is_directory && p.more);
    webhdfs_page_close(&p);
    ck_assert_int_eq(parse_page(PAGE("", "0"), &p), 0);
    ck_assert(p.count == 0 && !p.more);
    webhdfs_page_close(&p);
}

END_TEST

/* Every beginning of an answer is refused, and so are other forms of it. */
START_TEST(test_what_is_refused)
{
    static const char whole[] = PAGE(STATUS("a", "FILE", "7"), "0");
    static const char *const bad[] = {PAGE(STATUS("..", "FILE", "7"), "0"),
                                      PAGE(STATUS("a/b", "FILE", "7"), "0"),
                                      PAGE(STATUS("a", "FILE", "-7"), "0"),
                                      PAGE(STATUS("a", "FILE", "\"7\""), "0"),
                                      PAGE("1", "0"),
                                      PAGE("", "-1"),
                                      "{\"boolean\":true}",
                                      "[]",
                                      "null",
                                      ""};
    struct webhdfs_page p;
    bool yes;
    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        ck_assert_int_eq(webhdfs_page_parse(slice_make(whole, len), &p, NULL),
                         ERR_CORRUPT);
        webhdfs_page_close(&p);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        ck_assert_int_eq(parse_page(bad[i], &p), ERR_CORRUPT);
        webhdfs_page_close(&p);
    }
    ck_assert_int_eq(webhdfs_boolean_parse(SLICE_LIT("{}"), &yes, NULL),
                     ERR_CORRUPT);
    ck_assert_int_eq(
        webhdfs_boolean_parse(SLICE_LIT("{\"boolean\":true}"), &yes, NULL), 0);
    ck_assert(yes);
}

END_TEST

/* An exception is its name and the first line of its message. */
START_TEST(test_exceptions)
{
    struct webhdfs_exception e;
    webhdfs_exception_parse(
        SLICE_LIT(
            "{\"RemoteException\":{\"exception\":\"AccessControl"
            "Exception\",\"javaClassName\":\"x\",\"message\":\"no\\n\\tat "
            "java\"}}"),
        &e);
    ck_assert_str_eq(e.name, "AccessControlException");
    ck_assert_str_eq(e.message, "no");
    webhdfs_exception_parse(SLICE_LIT("<html>"), &e);
    ck_assert(!e.name[0] && !e.message[0]);
}

END_TEST

TEST_MAIN("webhdfs_answer",
          test_a_status,
          test_pages,
          test_what_is_refused,
          test_exceptions)
