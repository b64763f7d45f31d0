/* Old encodings converted: the encoding is chosen by the rules of browsers, the
 * bytes are converted by iconv. */
#include "mapreduce/warc/charset.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <uchardet/uchardet.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/warc/charset_label.h"
#include "mapreduce/warc/html_text.h"

/* The part of a page that is examined for its encoding. */
#define DETECT_BYTES ((size_t)64 << 10)
/* A larger buffer is freed before the next page. */
#define KEEP_BYTES ((size_t)8 << 20)

struct charset_decoder {
    struct buf text;
    const struct charset_encoding *encoding; /* Used last. */
    bool by_bytes;                           /* It was detected. */
    uchardet_t detector;
    struct charset_encoding detected; /* For detected encodings that no label of
                                         the Standard names. */
    char detected_name[40];
    /* Converters of the encoding they were opened for. */
    const char *iconv_of;
    iconv_t to_utf8;
};

struct charset_decoder *charset_decoder_new(void)
{
    struct charset_decoder *d = mem_zalloc(1, sizeof(*d));
    d->to_utf8 = (iconv_t)-1;
    d->encoding = &charset_utf8;
    return d;
}

void charset_decoder_free(struct charset_decoder *d)
{
    if (!d)
        return;
    buf_close(&d->text);
    if (d->detector)
        uchardet_delete(d->detector);
    if (d->to_utf8 != (iconv_t)-1)
        iconv_close(d->to_utf8);
    mem_free(d);
}

const char *charset_name(const struct charset_decoder *d)
{
    return d->encoding->name;
}

bool charset_was_detected(const struct charset_decoder *d)
{
    return d->by_bytes;
}

/* --- which one ----------------------------------------------------------- */

/* Detect the encoding by the bytes; NULL: undecided. */
static const struct charset_encoding *charset_detect(struct charset_decoder *d,
                                                     struct slice body)
{
    const struct charset_encoding *e;
    const char *name;
    body = slice_sub(body, 0, DETECT_BYTES);
    if (!d->detector)
        d->detector = uchardet_new();
    uchardet_reset(d->detector);
    if (body.len == 0 ||
        uchardet_handle_data(d->detector, body.data, body.len) != 0)
        return NULL;
    uchardet_data_end(d->detector);
    name = uchardet_get_charset(d->detector);
    e = charset_of_label(slice_str(name));
    if (e || !name[0] || strlen(name) >= sizeof(d->detected_name))
        return e;
    memcpy(d->detected_name, name, strlen(name) + 1);
    for (char *p = d->detected_name; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p | 0x20);
    d->detected = (struct charset_encoding){d->detected_name, d->detected_name};
    return &d->detected;
}

static const struct charset_encoding *of_mark(struct slice body)
{
    if (slice_starts_with(body, SLICE_LIT("\xef\xbb\xbf")))
        return &charset_utf8;
    if (slice_starts_with(body, SLICE_LIT("\xff\xfe")))
        return &charset_utf16le;
    if (slice_starts_with(body, SLICE_LIT("\xfe\xff")))
        return &charset_utf16be;
    return NULL;
}

/* "<\\0h\\0": UTF-16 without a byte order mark. */
static const struct charset_encoding *of_zeros(struct slice body)
{
    if (body.len < 4)
        return NULL;
    if (body.data[0] == '<' && !body.data[1] && body.data[2] && !body.data[3])
        return &charset_utf16le;
    if (!body.data[0] && body.data[1] == '<' && !body.data[2] && body.data[3])
        return &charset_utf16be;
    return NULL;
}

static bool is_utf16(const struct charset_encoding *e)
{
    return e == &charset_utf16le || e == &charset_utf16be;
}

/* The encoding that the page declares. It cannot be UTF-16, or the declaration
 * could not be read. */
static const struct charset_encoding *of_meta(struct slice body)
{
    const struct charset_encoding *e = charset_of_label(charset_prescan(body));
    return e && is_utf16(e) ? &charset_utf8 : e;
}

static const struct charset_encoding *charset_choose(struct charset_decoder *d,
                                                     struct slice label,
                                                     bool html,
                                                     struct slice body)
{
    size_t cut;
    const struct charset_encoding *e = of_mark(body);
    if (!e)
        e = charset_of_label(label);
    if (!e && html)
        e = of_zeros(body);
    if (!e && html)
        e = of_meta(body);
    if (e && e != &charset_windows_1252)
        return e;
    /* ISO-2022-JP is ASCII with escapes. */
    if (html_text_is_utf8(body, &cut) &&
        (e || slice_find_byte(body, '\x1b') == body.len))
        return &charset_utf8;
    if (!e) {
        e = charset_detect(d, body);
        d->by_bytes = e && e != &charset_windows_1252;
    }
    return e ? e : &charset_windows_1252;
}

/* --- converting ---------------------------------------------------------- */

static bool open_converter(struct charset_decoder *d)
{
    const char *name = d->encoding->iconv;
    if (d->iconv_of == name && d->encoding != &d->detected)
        return d->to_utf8 != (iconv_t)-1;
    if (d->to_utf8 != (iconv_t)-1)
        iconv_close(d->to_utf8);
    d->to_utf8 = iconv_open("UTF-8", name);
    d->iconv_of = name;
    return d->to_utf8 != (iconv_t)-1;
}

static void charset_convert(struct charset_decoder *d, struct slice body)
{
    char *in = (char *)(uintptr_t)body.data;
    size_t left = body.len;
    iconv(d->to_utf8, NULL, NULL, NULL, NULL);
    while (left > 0) {
        size_t room = MIN_OF(left * 3 + 16, (size_t)1 << 20);
        char *to = buf_reserve(&d->text, room);
        char *out = to;
        size_t r = iconv(d->to_utf8, &in, &left, &out, &room);
        int why = errno;
        d->text.len += (size_t)(out - to);
        if (r != (size_t)-1 || why == E2BIG)
            continue;
        /* An invalid byte, or a character cut at the end. */
        buf_append_str(&d->text, "\xef\xbf\xbd");
        if (why == EINVAL)
            return;
        in++;
        left--;
    }
}

struct slice charset_decode(struct charset_decoder *d,
                            struct slice label,
                            bool html,
                            struct slice body)
{
    if (d->text.cap > KEEP_BYTES) {
        buf_close(&d->text);
        buf_init(&d->text);
    }
    buf_clear(&d->text);
    d->by_bytes = false;
    d->encoding = charset_choose(d, label, html, body);
    if (d->encoding == &charset_utf8)
        return body;
    if (!open_converter(d)) {
        d->encoding = &charset_windows_1252;
        if (!open_converter(d))
            return body;
    }
    if (is_utf16(d->encoding) && of_mark(body))
        body = slice_sub(body, 2, body.len);
    charset_convert(d, body);
    return buf_slice(&d->text);
}

/* --- links --------------------------------------------------------------- */

static bool has_high(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] >= 0x80)
            return true;
    return false;
}

/* Append the bytes of @s, escaping those that are not ASCII. */
static void charset_escape(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c >= 0x80)
            buf_printf(out, "%%%02X", c);
        else
            buf_append_byte(out, (char)c);
    }
}

struct slice
charset_link(struct charset_decoder *d, struct slice href, struct buf *out)
{
    size_t query = slice_find_byte(href, '?');
    size_t end = slice_find_byte(href, '#');
    char bytes[4096];
    char *in = (char *)(uintptr_t)href.data + query;
    char *to = bytes;
    size_t left = end > query ? end - query : 0;
    size_t room = sizeof(bytes);
    iconv_t from_utf8;
    size_t r;
    if (query >= end || d->encoding == &charset_utf8 || is_utf16(d->encoding) ||
        !has_high(slice_sub(href, query, end)))
        return href;
    from_utf8 = iconv_open(d->encoding->iconv, "UTF-8");
    if (from_utf8 == (iconv_t)-1)
        return href;
    r = iconv(from_utf8, &in, &left, &to, &room);
    if (r != (size_t)-1)
        r = iconv(from_utf8, NULL, NULL, &to, &room);
    iconv_close(from_utf8);
    if (r == (size_t)-1)
        return href;
    buf_clear(out);
    buf_append_slice(out, slice_sub(href, 0, query));
    charset_escape(out, slice_make(bytes, (size_t)(to - bytes)));
    buf_append_slice(out, slice_sub(href, end, href.len));
    return buf_slice(out);
}
