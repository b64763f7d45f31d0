/* URIs resolve as RFC 3986 says, come to one form, and their row keys sort by
 * domain without merging pages that a server may tell apart. */
#include <stdlib.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/rand.h"
#include "mapreduce/warc/surt.h"
#include "mapreduce/warc/url.h"
#include "tests/lib/check_main.h"

static void expect_resolved(const char *base, const char *ref, const char *want)
{
    struct buf out = BUF_INIT;
    struct url b;
    url_split(slice_str(base), &b);
    url_resolve(&b, slice_str(ref), &out);
    ck_assert_msg(strcmp(buf_cstr(&out), want) == 0, "%s from %s: %s, not %s",
                  ref, base, buf_cstr(&out), want);
    buf_close(&out);
}

/* The examples of RFC 3986, 5.4.1 and 5.4.2, come out as printed there. */
START_TEST(test_resolves_the_examples_of_the_rfc)
{
    static const char *const cases[][2] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {"g?y#s", "http://a/b/c/g?y#s"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"g;x?y#s", "http://a/b/c/g;x?y#s"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/./x", "http://a/b/c/g?y/./x"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"g#s/./x", "http://a/b/c/g#s/./x"},
        {"g#s/../x", "http://a/b/c/g#s/../x"},
        {"http:g", "http:g"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_resolved("http://a/b/c/d;p?q", cases[i][0], cases[i][1]);
    expect_resolved("http://a", "g", "http://a/g");
    expect_resolved("http://a?x", "g?y", "http://a/g?y");
    expect_resolved("http://u@a:8/b", "//c:9/d", "http://c:9/d");
}

END_TEST

static void expect_key(const char *uri, const char *want)
{
    struct buf out = BUF_INIT;
    bool ok = url_key(slice_str(uri), &out);
    ck_assert_msg(ok == (want != NULL), "%s", uri);
    if (want)
        ck_assert_str_eq(buf_cstr(&out), want);
    buf_close(&out);
}

/* Keys reverse the host, keep case and odd ports, and drop what no server sees.
 */
START_TEST(test_row_keys)
{
    expect_key("http://www.cnn.com/path?q=1", "com.cnn.www/path?q=1");
    expect_key("https://www.cnn.com/path?q=1", "com.cnn.www/path?q=1");
    expect_key("http://www.cnn.com", "com.cnn.www/");
    expect_key("HTTP://WWW.CNN.com./A%2fB#frag", "com.cnn.www/A%2fB");
    expect_key("http://cnn.com:80/", "com.cnn/");
    expect_key("https://cnn.com:443/", "com.cnn/");
    expect_key("https://cnn.com:80/", "com.cnn:80/");
    expect_key("http://cnn.com:8080/x", "com.cnn:8080/x");
    expect_key("ftp://ftp.gnu.org/gnu/", "org.gnu.ftp:ftp/gnu/");
    expect_key("ftp://ftp.gnu.org:2121/", "org.gnu.ftp:ftp:2121/");
    expect_key("http://192.168.1.10/a", "192.168.1.10/a");
    expect_key("http://[::1]:8080/a", "[::1]:8080/a");
    expect_key("http://test@example.com/", "com.example/");
    expect_key("dns:www.archive.org", "org.archive.www:dns");
    expect_key("urn:uuid:1", "urn:uuid:1");
    expect_key(" http://a.b/c d\xc3\xa9\n", "b.a/c%20d%C3%A9");
    expect_key("http://a.b/x?y z\"", "b.a/x?y%20z%22");
    expect_key("http://a.b/c/../d/./e/..", "b.a/d/");
    expect_key("http://a.b?q", "b.a/?q");
    expect_key("http:///nohost", NULL);
    expect_key("/relative", NULL);
    expect_key("", NULL);
    expect_key("http://a b/", NULL);
}

END_TEST

/* The URI made of a key has that key; of the web's keys it is http's. */
START_TEST(test_uri_of_a_key)
{
    static const char *const cases[][2] = {
        {"com.cnn.www/path?q=1", "http://www.cnn.com/path?q=1"},
        {"com.cnn:8080/x", "http://cnn.com:8080/x"},
        {"org.gnu.ftp:ftp/gnu/", "ftp://ftp.gnu.org/gnu/"},
        {"org.gnu.ftp:ftp:2121/", "ftp://ftp.gnu.org:2121/"},
        {"192.168.1.10/a", "http://192.168.1.10/a"},
        {"[::1]:8080/a", "http://[::1]:8080/a"},
        {"org.archive.www:dns", "dns:www.archive.org"},
        {"urn:uuid:1", "urn:uuid:1"},
        {"mailto:a@b", "mailto:a@b"},
        {"", ""},
        {":", ":"},
        {"no key at all", "no key at all"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf uri = BUF_INIT;
        url_of_row_key(slice_str(cases[i][0]), &uri);
        ck_assert_msg(slice_eq_str(buf_slice(&uri), cases[i][1]), "%s: %s",
                      cases[i][0], buf_cstr(&uri));
        buf_close(&uri);
    }
}

END_TEST

/* The host of a key is the part that was reversed, whatever follows. */
START_TEST(test_host_of_a_key)
{
    static const char *const cases[][2] = {
        {"com.cnn.www/path", "com.cnn.www"},  {"com.cnn:8080/", "com.cnn"},
        {"org.gnu.ftp:ftp/x", "org.gnu.ftp"}, {"[::1]:80/a", "[::1]"},
        {"192.168.1.1/", "192.168.1.1"},      {"", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct slice h = url_key_host(slice_str(cases[i][0]));
        ck_assert(slice_eq_str(h, cases[i][1]));
    }
}

END_TEST

/* Reversing a host twice gives the host. */
START_TEST(test_reversing_twice_is_the_identity)
{
    struct rand_gen r;
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    rand_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        char host[32];
        size_t n = 1 + rand_below(&r, 30);
        for (size_t k = 0; k < n; k++)
            host[k] = "abcxyz.."[rand_below(&r, 8)];
        a.len = b.len = 0;
        url_reverse_host(slice_make(host, n), &a);
        url_reverse_host(buf_slice(&a), &b);
        ck_assert(slice_eq(buf_slice(&b), slice_make(host, n)));
    }
    buf_close(&a);
    buf_close(&b);
}

END_TEST

/* Normalising twice changes nothing more, for any bytes. */
START_TEST(test_normalising_is_idempotent)
{
    static const char alphabet[] = "htp:/.?#%&=aB0 \t\"<\xc3\xa9@[]\\;";
    struct rand_gen r;
    struct buf once = BUF_INIT;
    struct buf twice = BUF_INIT;
    size_t good = 0;
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        char uri[80] = "http://h/";
        size_t n = rand_below(&r, 2) ? 9 : 7;
        size_t more = rand_below(&r, 60);
        for (size_t k = 0; k < more; k++)
            uri[n++] = alphabet[rand_below(&r, sizeof(alphabet) - 1)];
        once.len = twice.len = 0;
        if (!url_normalise(slice_make(uri, n), &once))
            continue;
        good++;
        ck_assert(url_normalise(buf_slice(&once), &twice));
        ck_assert_msg(slice_eq(buf_slice(&once), buf_slice(&twice)),
                      "%.*s: %s then %s", (int)n, uri, buf_cstr(&once),
                      buf_cstr(&twice));
    }
    ck_assert_uint_gt(good, 5000);
    buf_close(&once);
    buf_close(&twice);
}

END_TEST

/* As the Python package of that name makes them: arguments in order of name and
 * value, empty ones kept, of each kind of session the last dropped. */
START_TEST(test_surt_arguments)
{
    static const char *const cases[][2] = {
        {"http://a.com/?a=1&", "com,a)/?&a=1"},
        {"http://a.com/?&a=1", "com,a)/?&a=1"},
        {"http://a.com/?a&&b", "com,a)/?&a&b"},
        {"http://a.com/?&", "com,a)/?&"},
        {"http://a.com/?", "com,a)/"},
        {"http://a.com/?aff_sub4=1&aff_sub=2", "com,a)/?aff_sub=2&aff_sub4=1"},
        {"http://a.com/?b&a=", "com,a)/?a=&b"},
        {"http://a.com/?b=&b", "com,a)/?b&b="},
        {"http://a.com/?x=1&sid=0123456789abcdef0123456789ABCDEF",
         "com,a)/?&x=1"},
        {"http://a.com/?phpsessid=0123456789abcdef0123456789ABCDEF&"
         "cfid=1&cftoken=2&z",
         "com,a)/?z"},
        {"http://www2.A.com:80/X", "com,a)/x"},
        {"https://a.com:80/", "com,a:80)/"},
        {"https://a.com:443/", "com,a)/"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out = BUF_INIT;
        surt_key(slice_str(cases[i][0]), &out);
        ck_assert_msg(strcmp(buf_cstr(&out), cases[i][1]) == 0, "%s: %s",
                      cases[i][0], buf_cstr(&out));
        buf_close(&out);
    }
}

END_TEST

/* Local files are their own keys, with blanks escaped; so is what has a host
 * that can't be one. */
START_TEST(test_files_and_odd_hosts)
{
    struct buf key = BUF_INIT;
    struct buf back = BUF_INIT;
    ck_assert(url_key(SLICE_LIT("file:///an example.png"), &key));
    ck_assert_str_eq(buf_cstr(&key), "file:///an%20example.png");
    url_of_row_key(buf_slice(&key), &back);
    ck_assert_str_eq(buf_cstr(&back), "file:///an%20example.png");
    buf_clear(&key);
    ck_assert(url_key(SLICE_LIT("FILE:///C:/a/../b"), &key));
    ck_assert_str_eq(buf_cstr(&key), "file:///C:/b");
    buf_clear(&key);
    ck_assert(!url_key(SLICE_LIT("http:///x"), &key));
    ck_assert(!url_key(SLICE_LIT("http://a b.example/x"), &key));
    ck_assert(url_escape_whole(SLICE_LIT("http://a b.example/x"), &key));
    ck_assert_str_eq(buf_cstr(&key), "http://a%20b.example/x");
    ck_assert(!url_escape_whole(SLICE_LIT("no scheme"), &key));
    buf_close(&key);
    buf_close(&back);
}

END_TEST

TEST_MAIN("url",
          test_resolves_the_examples_of_the_rfc,
          test_row_keys,
          test_uri_of_a_key,
          test_host_of_a_key,
          test_reversing_twice_is_the_identity,
          test_normalising_is_idempotent,
          test_surt_arguments,
          test_files_and_odd_hosts)
