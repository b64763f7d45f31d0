/* Text of HTML as plain UTF-8: references decoded, blanks collapsed, and bytes
 * that are not UTF-8 read as windows-1252, as browsers do. */
#include "mapreduce/warc/html_text.h"

#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"

/* Names that occur in running text; the rest of the 2,231 stay as written. */
static const struct {
    const char *name;
    unsigned code;
} names[] = {
    {"amp", '&'},       {"lt", '<'},        {"gt", '>'},
    {"quot", '"'},      {"apos", '\''},     {"nbsp", ' '},
    {"copy", 0xa9},     {"reg", 0xae},      {"trade", 0x2122},
    {"hellip", 0x2026}, {"mdash", 0x2014},  {"ndash", 0x2013},
    {"lsquo", 0x2018},  {"rsquo", 0x2019},  {"ldquo", 0x201c},
    {"rdquo", 0x201d},  {"laquo", 0xab},    {"raquo", 0xbb},
    {"lsaquo", 0x2039}, {"rsaquo", 0x203a}, {"bull", 0x2022},
    {"middot", 0xb7},   {"euro", 0x20ac},   {"pound", 0xa3},
    {"yen", 0xa5},      {"cent", 0xa2},     {"sect", 0xa7},
    {"para", 0xb6},     {"deg", 0xb0},      {"plusmn", 0xb1},
    {"times", 0xd7},    {"divide", 0xf7},   {"frac12", 0xbd},
    {"frac14", 0xbc},   {"sup2", 0xb2},     {"sup3", 0xb3},
    {"micro", 0xb5},    {"iexcl", 0xa1},    {"iquest", 0xbf},
    {"larr", 0x2190},   {"uarr", 0x2191},   {"rarr", 0x2192},
    {"darr", 0x2193},   {"ensp", ' '},      {"emsp", ' '},
    {"thinsp", ' '},    {"shy", 0xad},      {"bdquo", 0x201e},
    {"sbquo", 0x201a},  {"dagger", 0x2020}, {"permil", 0x2030},
    {"minus", 0x2212},  {"szlig", 0xdf},    {"Agrave", 0xc0},
    {"Aacute", 0xc1},   {"Acirc", 0xc2},    {"Atilde", 0xc3},
    {"Auml", 0xc4},     {"Aring", 0xc5},    {"AElig", 0xc6},
    {"Ccedil", 0xc7},   {"Egrave", 0xc8},   {"Eacute", 0xc9},
    {"Ecirc", 0xca},    {"Euml", 0xcb},     {"Igrave", 0xcc},
    {"Iacute", 0xcd},   {"Icirc", 0xce},    {"Iuml", 0xcf},
    {"ETH", 0xd0},      {"Ntilde", 0xd1},   {"Ograve", 0xd2},
    {"Oacute", 0xd3},   {"Ocirc", 0xd4},    {"Otilde", 0xd5},
    {"Ouml", 0xd6},     {"Oslash", 0xd8},   {"Ugrave", 0xd9},
    {"Uacute", 0xda},   {"Ucirc", 0xdb},    {"Uuml", 0xdc},
    {"Yacute", 0xdd},   {"THORN", 0xde},    {"agrave", 0xe0},
    {"aacute", 0xe1},   {"acirc", 0xe2},    {"atilde", 0xe3},
    {"auml", 0xe4},     {"aring", 0xe5},    {"aelig", 0xe6},
    {"ccedil", 0xe7},   {"egrave", 0xe8},   {"eacute", 0xe9},
    {"ecirc", 0xea},    {"euml", 0xeb},     {"igrave", 0xec},
    {"iacute", 0xed},   {"icirc", 0xee},    {"iuml", 0xef},
    {"eth", 0xf0},      {"ntilde", 0xf1},   {"ograve", 0xf2},
    {"oacute", 0xf3},   {"ocirc", 0xf4},    {"otilde", 0xf5},
    {"ouml", 0xf6},     {"oslash", 0xf8},   {"ugrave", 0xf9},
    {"uacute", 0xfa},   {"ucirc", 0xfb},    {"uuml", 0xfc},
    {"yacute", 0xfd},   {"thorn", 0xfe},    {"yuml", 0xff},
    {"OElig", 0x152},   {"oelig", 0x153},   {"Scaron", 0x160},
    {"scaron", 0x161},
};

/* 0x80 to 0x9f of windows-1252; 0 where it has none. */
static const unsigned short cp1252[32] = {
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
    0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
    0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
    0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178,
};

static size_t put_utf8(char *p, unsigned c)
{
    if (c < 0x80) {
        p[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        p[0] = (char)(0xc0 | c >> 6);
        p[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        p[0] = (char)(0xe0 | c >> 12);
        p[1] = (char)(0x80 | (c >> 6 & 63));
        p[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    p[0] = (char)(0xf0 | c >> 18);
    p[1] = (char)(0x80 | (c >> 12 & 63));
    p[2] = (char)(0x80 | (c >> 6 & 63));
    p[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* --- references ---------------------------------------------------------- */

/* "#123;" or "#x7b;" after an ampersand. */
static size_t html_text_numeric(struct slice s, unsigned *code)
{
    size_t i = 1;
    unsigned v = 0;
    unsigned base = 10;
    size_t start;
    if (i < s.len && (s.data[i] | 0x20) == 'x') {
        base = 16;
        i++;
    }
    start = i;
    for (; i < s.len && i < start + 8; i++) {
        char c = s.data[i];
        if (c >= '0' && c <= '9')
            v = v * base + (unsigned)(c - '0');
        else if (base == 16 && (c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            v = v * base + (unsigned)((c | 0x20) - 'a') + 10;
        else
            break;
    }
    if (i == start)
        return 0;
    if (v >= 0x80 && v < 0xa0 && cp1252[v - 0x80])
        v = cp1252[v - 0x80];
    if (v == 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        v = 0xfffd;
    *code = v;
    return i < s.len && s.data[i] == ';' ? i + 1 : i;
}

/* Length of the reference whose ampersand is before @s; 0: it is not one. */
static size_t html_text_reference(struct slice s, unsigned *code)
{
    size_t n = 0;
    if (s.len && s.data[0] == '#')
        return html_text_numeric(s, code);
    while (n < s.len && n < 8 &&
           (((s.data[n] | 0x20) >= 'a' && (s.data[n] | 0x20) <= 'z') ||
            (s.data[n] >= '0' && s.data[n] <= '9')))
        n++;
    if (n == 0 || n >= s.len || s.data[n] != ';')
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].name[0] == s.data[0] && strlen(names[i].name) == n &&
            memcmp(names[i].name, s.data, n) == 0) {
            *code = names[i].code;
            return n + 1;
        }
    }
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' ||
           c == '\v' || c == '\0';
}

void html_text_append(struct buf *out,
                      struct slice s,
                      bool collapse,
                      size_t bytes_max)
{
    size_t i = 0;
    while (i < s.len && out->len + 4 <= bytes_max) {
        char c = s.data[i];
        unsigned code;
        size_t n;
        if (c == '&') {
            n = html_text_reference(slice_sub(s, i + 1, s.len), &code);
            if (n) {
                i += n + 1;
                if (code != ' ' || !collapse) {
                    out->len += put_utf8(buf_reserve(out, 4), code);
                    continue;
                }
                c = ' ';
            } else {
                i++;
            }
        } else {
            i++;
        }
        if (!collapse || !is_blank(c))
            buf_append_byte(out, c);
        else if (out->len && out->data[out->len - 1] != ' ')
            buf_append_byte(out, ' ');
    }
}

/* --- charsets ------------------------------------------------------------ */

/* Length of a UTF-8 character by its first byte; 0 for bytes that begin none.
 */
static int html_text_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2)
        return 0; /* A tail byte, or an overlong form of ASCII. */
    if (first < 0xe0)
        return 2;
    if (first < 0xf0)
        return 3;
    return first < 0xf5 ? 4 : 0;
}

/* Length of the UTF-8 character at @p, 0: invalid, -1: it is cut. */
static int html_text_character(const unsigned char *p, size_t n)
{
    unsigned char c = p[0];
    int len = html_text_length(c);
    for (int i = 1; i < len; i++) {
        if ((size_t)i >= n)
            return -1;
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    if (len == 3 && ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f)))
        return 0;
    if (len == 4 && ((c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f)))
        return 0;
    return len;
}

bool html_text_is_utf8(struct slice s, size_t *cut)
{
    const unsigned char *p = (const unsigned char *)s.data;
    size_t i = 0;
    if (cut)
        *cut = 0;
    while (i < s.len) {
        int n = p[i] < 0x80 ? 1 : html_text_character(p + i, s.len - i);
        if (n < 0 && cut) {
            *cut = s.len - i;
            return true;
        }
        if (n <= 0)
            return false;
        i += (size_t)n;
    }
    return true;
}

void html_text_fix(struct buf *b, size_t from)
{
    PRE(from <= b->len);
    struct buf out = BUF_INIT;
    struct slice s = slice_sub(buf_slice(b), from, b->len);
    size_t cut;
    if (html_text_is_utf8(s, &cut)) {
        b->len -= cut;
        return;
    }
    for (size_t i = 0; i < s.len; i++) {
        unsigned c = (unsigned char)s.data[i];
        if (c >= 0x80 && c < 0xa0)
            c = cp1252[c - 0x80] ? cp1252[c - 0x80] : 0xfffd;
        out.len += put_utf8(buf_reserve(&out, 4), c);
    }
    b->len = from;
    buf_append_slice(b, buf_slice(&out));
    buf_close(&out);
}
