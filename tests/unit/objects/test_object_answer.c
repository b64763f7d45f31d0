/* Answers of S3 are read as they are meant, and what is malformed, too deep or
 * declares entities is refused. */
#include <string.h>

#include "base/core/buf.h"
#include "base/objects/object_answer.h"
#include "base/objects/object_name.h"
#include "tests/lib/check_main.h"

#define NS " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

static int parse(const char *xml, struct object_page *page)
{
    return object_page_parse(slice_str(xml), page, NULL);
}

START_TEST(test_a_page)
{
    struct object_page p;
    ck_assert_int_eq(
        parse("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
              "<ListBucketResult" NS "><Name>b</Name><Prefix>p/</Prefix>"
              "<EncodingType>url</EncodingType>"
              "<IsTruncated>true</IsTruncated>"
              "<Contents><Key>p/a%2Bb+c%C3%BC</Key>"
              "<LastModified>2024-01-31T12:00:00.000Z</LastModified>"
              "<ETag>&quot;x&quot;</ETag><Size>17</Size>"
              "<Owner><ID>1</ID><DisplayName>Key</DisplayName></Owner>"
              "</Contents>"
              "<CommonPrefixes><Prefix>p/d/</Prefix></CommonPrefixes>"
              "<NextContinuationToken>abc=</NextContinuationToken>"
              "</ListBucketResult>",
              &p),
        0);
    ck_assert_uint_eq(p.count, 2);
    ck_assert_str_eq(p.entries[0].key, "p/a+b c\xc3\xbc");
    ck_assert_uint_eq(p.entries[0].size_bytes, 17);
    ck_assert_uint_eq(p.entries[0].modified_us, UINT64_C(1706702400000000));
    ck_assert(!p.entries[0].is_prefix);
    ck_assert_str_eq(p.entries[1].key, "p/d/");
    ck_assert(p.entries[1].is_prefix);
    ck_assert_str_eq(buf_cstr(&p.next), "abc=");
    object_page_close(&p);
}

END_TEST

START_TEST(test_the_last_page)
{
    struct object_page p;
    ck_assert_int_eq(parse("<ListBucketResult><IsTruncated>false</IsTruncated>"
                           "<NextContinuationToken>x</NextContinuationToken>"
                           "<Contents><Key>a%20b</Key><Size>0</Size></Contents>"
                           "</ListBucketResult>",
                           &p),
                     0);
    ck_assert_uint_eq(p.next.len, 0);
    ck_assert_str_eq(p.entries[0].key, "a%20b"); /* Not said to be encoded. */
    object_page_close(&p);
}

END_TEST

static void check_refused(const char *xml)
{
    struct object_page p;
    ck_assert_msg(parse(xml, &p) == ERR_CORRUPT, "%s", xml);
    object_page_close(&p);
}

START_TEST(test_refused_pages)
{
    struct buf deep = BUF_INIT;
    check_refused("");
    check_refused("no XML");
    check_refused("<Other></Other>");
    check_refused("<ListBucketResult>");
    check_refused("<ListBucketResult><Contents><Size>1</Size></Contents>"
                  "</ListBucketResult>");
    check_refused("<ListBucketResult><Contents><Key>k</Key><Size>-1</Size>"
                  "</Contents></ListBucketResult>");
    check_refused("<ListBucketResult><IsTruncated>true</IsTruncated>"
                  "</ListBucketResult>");
    check_refused("<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult>"
                  "</ListBucketResult>");
    for (int i = 0; i < 20; i++)
        buf_append_str(&deep, "<a>");
    check_refused(buf_cstr(&deep));
    buf_clear(&deep);
    buf_append_str(&deep, "<ListBucketResult><Contents><Key>");
    buf_append_fill(&deep, 'k', 5000);
    buf_append_str(&deep, "</Key></Contents></ListBucketResult>");
    check_refused(buf_cstr(&deep));
    buf_close(&deep);
}

END_TEST

START_TEST(test_words)
{
    struct object_words w;
    const char *error = "<Error><Code>NoSuchKey</Code><Message>it is &lt;not "
                        "&gt; there</Message><RequestId>R1</RequestId>"
                        "<Region>eu-west-1</Region></Error>";
    ck_assert_int_eq(object_words_parse(slice_str(error), &w), 0);
    ck_assert_str_eq(w.root, "Error");
    ck_assert_str_eq(w.code, "NoSuchKey");
    ck_assert_str_eq(w.message, "it is <not > there");
    ck_assert_str_eq(w.request_id, "R1");
    ck_assert_str_eq(w.region, "eu-west-1");
    ck_assert_int_ne(object_words_parse(SLICE_LIT("<html><p>oops"), &w), 0);
    ck_assert_str_eq(w.root, "");
}

END_TEST

static void check_name(const char *text, int want)
{
    struct object_name name;
    ck_assert_msg(object_name_parse(text, &name, NULL) == want, "%s", text);
}

START_TEST(test_names)
{
    struct object_name n;
    struct buf b = BUF_INIT;
    ck_assert_int_eq(object_name_parse("s3://my.bucket-1/a//b?c", &n, NULL), 0);
    ck_assert(slice_eq_str(n.place, "my.bucket-1"));
    ck_assert(slice_eq_str(n.key, "a//b?c"));
    ck_assert_int_eq(object_name_parse("http://[::1]:80", &n, NULL), 0);
    ck_assert(n.scheme == OBJECT_HTTP && n.key.len == 0);
    check_name("s3:///x", ERR_INVALID);
    check_name("s3://a b/x", ERR_INVALID);
    check_name("https://user@host/x", ERR_INVALID);
    check_name("ftp://host/x", ERR_INVALID);
    ck_assert(!object_name_is("s3:x") && object_name_is("s3://"));
    object_put_encoded(&b, SLICE_LIT("a/b c+~\xff"), true);
    ck_assert_str_eq(buf_cstr(&b), "a/b%20c%2B~%FF");
    buf_clear(&b);
    object_put_encoded(&b, SLICE_LIT("a/b"), false);
    ck_assert_str_eq(buf_cstr(&b), "a%2Fb");
    buf_clear(&b);
    object_put_decoded(&b, SLICE_LIT("%41%zz%4"));
    ck_assert_str_eq(buf_cstr(&b), "A%zz%4");
    buf_close(&b);
}

END_TEST

TEST_MAIN("object_answer",
          test_a_page,
          test_the_last_page,
          test_refused_pages,
          test_words,
          test_names)
