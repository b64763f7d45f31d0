/* Titles and links of pages in old encodings, told by header, mark, <meta> or
 * by the bytes alone. */
#include <iconv.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/rand.h"
#include "mapreduce/warc/charset.h"
#include "mapreduce/warc/links.h"
#include "tests/lib/check_main.h"

/* The title and some text of each. */
struct sample {
    const char *label; /* As pages write it. */
    const char *iconv;
    const char *title;
    const char *text; /* Enough of it to be told apart. */
};

static const struct sample samples[] = {
    {"EUC-JP", "EUC-JP", "日本語のページ",
     "これは日本語で書かれた文章です。文字コードを判定します。"},
    {"Shift_JIS", "CP932", "表示テスト",
     "これは日本語で書かれた文章です。ソースの表を表示します。"},
    {"GBK", "GBK", "中文网页标题",
     "这是一个用中文写的网页,我们要检测它的编码。今天天气很好。"},
    {"gb2312", "GB2312", "新闻中心",
     "北京时间今天上午,有关部门举行了新闻发布会,介绍了情况。"},
    {"Big5", "BIG5", "繁體中文網頁",
     "這是一個用中文寫的網頁,我們要檢測它的編碼。今天天氣很好。"},
    {"EUC-KR", "EUC-KR", "한국어 페이지",
     "이것은 한국어로 쓰여진 문서입니다. 문자 집합을 판별합니다."},
    {"windows-1251", "CP1251", "Новости дня",
     "Это страница на русском языке, и мы должны определить её кодировку."},
    {"koi8-r", "KOI8-R", "Главная страница",
     "Это страница на русском языке, и мы должны определить её кодировку."},
};

/* @text in the encoding, appended to @out. */
static void put(struct buf *out, const char *encoding, const char *text)
{
    iconv_t c = iconv_open(encoding, "UTF-8");
    char *in = (char *)(uintptr_t)text;
    size_t left = strlen(text);
    size_t room = left * 4 + 16;
    char *to = buf_reserve(out, room);
    char *start = to;
    ck_assert_msg(c != (iconv_t)-1, "%s", encoding);
    ck_assert_msg(iconv(c, &in, &left, &to, &room) != (size_t)-1, "%s: %s",
                  encoding, text);
    out->len += (size_t)(to - start);
    iconv_close(c);
}

static void make_page(struct buf *out, const struct sample *s, const char *meta)
{
    struct buf page = BUF_INIT;
    buf_clear(out);
    buf_printf(&page, "<html><head>%s<title>%s</title></head><body>", meta,
               s->title);
    for (int i = 0; i < 4; i++)
        buf_printf(&page, "<p>%s</p>\n", s->text);
    buf_printf(&page, "<a href=\"/a/%s?q=%s#top\">%s</a></body></html>",
               s->title, s->title, s->title);
    put(out, s->iconv, buf_cstr(&page));
    buf_close(&page);
}

struct seen {
    struct charset_decoder *decoder;
    struct buf link;
    struct buf text;
    struct buf scratch;
};

static void on_link(void *ctx, const struct html_link *link)
{
    struct seen *seen = ctx;
    buf_clear(&seen->link);
    buf_clear(&seen->text);
    buf_append_slice(&seen->link,
                     charset_link(seen->decoder, link->href, &seen->scratch));
    buf_append_slice(&seen->text, link->text);
}

/* The link's query as browsers send it: escaped in the page's encoding. */
static void expect_link(const struct seen *seen, const struct sample *s)
{
    struct buf want = BUF_INIT;
    struct buf raw = BUF_INIT;
    buf_printf(&want, "/a/%s?q=", s->title);
    put(&raw, s->iconv, s->title);
    for (size_t i = 0; i < raw.len; i++) {
        unsigned char c = (unsigned char)raw.data[i];
        if (c >= 0x80)
            buf_printf(&want, "%%%02X", c);
        else
            buf_append_byte(&want, (char)c);
    }
    buf_append_str(&want, "#top");
    ck_assert_msg(slice_eq(buf_slice(&seen->link), buf_slice(&want)),
                  "%s: %.*s, not %s", s->label, (int)seen->link.len,
                  seen->link.data, buf_cstr(&want));
    buf_close(&raw);
    buf_close(&want);
}

static void expect_page(struct charset_decoder *d,
                        const struct sample *s,
                        const char *label,
                        const char *meta)
{
    struct html_scanner *scanner = html_scanner_new();
    struct seen seen = {.decoder = d};
    struct html_page page;
    struct buf html = BUF_INIT;
    make_page(&html, s, meta);
    html_scan(scanner,
              charset_decode(d, slice_str(label), true, buf_slice(&html)),
              on_link, &seen, &page);
    ck_assert_msg(slice_eq_str(page.title, s->title),
                  "%s (header '%s', meta '%s', used %s): %.*s", s->label, label,
                  meta, charset_name(d), (int)page.title.len, page.title.data);
    ck_assert(slice_eq_str(buf_slice(&seen.text), s->title));
    expect_link(&seen, s);
    buf_close(&html);
    buf_close(&seen.link);
    buf_close(&seen.text);
    buf_close(&seen.scratch);
    html_scanner_free(scanner);
}

START_TEST(test_told_by_header)
{
    struct charset_decoder *d = charset_decoder_new();
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        expect_page(d, &samples[i], samples[i].label, "");
        /* The header beats the page. */
        expect_page(d, &samples[i], samples[i].label, "<meta charset=utf-8>");
    }
    charset_decoder_free(d);
}

END_TEST

START_TEST(test_told_by_meta)
{
    struct charset_decoder *d = charset_decoder_new();
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        char meta[200];
        snprintf(meta, sizeof(meta), "<META charset=\"%s\">", samples[i].label);
        expect_page(d, &samples[i], "", meta);
        snprintf(meta, sizeof(meta),
                 "<!-- <meta charset=x> --><meta http-equiv=content-type "
                 "content='text/html; charset=%s'>",
                 samples[i].label);
        expect_page(d, &samples[i], "no-such-charset", meta);
    }
    charset_decoder_free(d);
}

END_TEST

START_TEST(test_told_by_nothing)
{
    struct charset_decoder *d = charset_decoder_new();
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        expect_page(d, &samples[i], "", "");
        ck_assert(charset_was_detected(d));
    }
    charset_decoder_free(d);
}

END_TEST

/* UTF-16 by mark, by header and by its zeros. */
START_TEST(test_utf16)
{
    static const char page[] =
        "<html><title>Grüße 日本</title><a href=/ä>über</a></html>";
    static const char *const marks[2] = {"\xff\xfe", "\xfe\xff"};
    static const char *const names[2] = {"UTF-16LE", "UTF-16BE"};
    struct charset_decoder *d = charset_decoder_new();
    struct html_scanner *scanner = html_scanner_new();
    for (int way = 0; way < 6; way++) {
        struct buf b = BUF_INIT;
        struct seen seen = {.decoder = d};
        struct html_page info;
        if (way < 2)
            buf_append(&b, marks[way % 2], 2);
        put(&b, names[way % 2], page);
        html_scan(scanner,
                  charset_decode(d,
                                 slice_str(way / 2 == 1 ? names[way % 2] : ""),
                                 true, buf_slice(&b)),
                  on_link, &seen, &info);
        ck_assert_msg(slice_eq_str(info.title, "Grüße 日本"), "way %d", way);
        ck_assert(slice_eq_str(buf_slice(&seen.link), "/ä"));
        ck_assert(slice_eq_str(buf_slice(&seen.text), "über"));
        buf_close(&b);
        buf_close(&seen.link);
        buf_close(&seen.text);
        buf_close(&seen.scratch);
    }
    html_scanner_free(scanner);
    charset_decoder_free(d);
}

END_TEST

/* UTF-8 is left as it is, also under a Western default; what is neither is
 * windows-1252; a mark beats everything. */
START_TEST(test_western)
{
    struct charset_decoder *d = charset_decoder_new();
    const struct slice utf8 = SLICE_LIT("<p>caf\xc3\xa9</p>");
    const struct slice latin = SLICE_LIT("<p>caf\xe9 \x80 5</p>");
    const struct slice marked = SLICE_LIT("\xef\xbb\xbf<p>caf\xc3\xa9</p>");
    struct slice s = charset_decode(d, SLICE_EMPTY, true, utf8);
    ck_assert_ptr_eq(s.data, utf8.data);
    s = charset_decode(d, SLICE_LIT("ISO-8859-1"), true, utf8);
    ck_assert_ptr_eq(s.data, utf8.data);
    s = charset_decode(d, SLICE_LIT("latin1"), true, latin);
    ck_assert(slice_eq_str(s, "<p>café € 5</p>"));
    ck_assert_str_eq(charset_name(d), "windows-1252");
    s = charset_decode(d, SLICE_LIT("koi8-r"), true, marked);
    ck_assert_ptr_eq(s.data, marked.data);
    charset_decoder_free(d);
}

END_TEST

/* Bytes that make no sense are replaced, whatever the encoding; nothing hangs
 * on characters cut at the end. */
START_TEST(test_rubbish)
{
    static const char *const labels[] = {
        "shift_jis", "euc-jp",       "big5", "gbk", "euc-kr", "iso-2022-jp",
        "utf-16le",  "windows-1253", "",     "hz",  "x"};
    struct charset_decoder *d = charset_decoder_new();
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 400; round++) {
        char bytes[600];
        size_t n = rand_below(&r, sizeof(bytes));
        struct slice s;
        for (size_t i = 0; i < n; i++)
            bytes[i] = rand_one_in(&r, 3) ? (char)rand_u64(&r) : 'a';
        s = charset_decode(d, slice_str(labels[round % ARRAY_LEN(labels)]),
                           true, slice_make(bytes, n));
        ck_assert_uint_le(s.len, 3 * sizeof(bytes));
    }
    charset_decoder_free(d);
}

END_TEST

TEST_MAIN("charsets",
          test_told_by_header,
          test_told_by_meta,
          test_told_by_nothing,
          test_utf16,
          test_western,
          test_rubbish)
