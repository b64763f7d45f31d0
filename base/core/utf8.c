/* UTF-8 (RFC 3629), and the width of its characters on a terminal. wcwidth()
 * is not used: it depends on the locale, and servers run in "C". The tables
 * hold blocks, not single characters; a rare character may be misaligned by
 * one column. */
#include "base/core/macros.h"
#include "base/core/text.h"

static bool is_tail(const char *p)
{
    return ((unsigned char)*p & 0xc0) == 0x80;
}

/* Length of a sequence by its first byte; 0 for bytes that start none. */
static size_t sequence_bytes(unsigned char first)
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

/* Neither overlong nor a surrogate nor past the last plane. */
static bool is_code(uint32_t code, size_t bytes)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    return code >= lowest[bytes] && code <= 0x10ffff &&
           (code < 0xd800 || code > 0xdfff);
}

size_t utf8_decode(const char *p, const char *end, uint32_t *code)
{
    unsigned char first = (unsigned char)*p;
    size_t bytes = sequence_bytes(first);
    uint32_t v;
    *code = UTF8_REPLACEMENT;
    if (bytes == 0 || (size_t)(end - p) < bytes)
        return 1;
    v = bytes == 1 ? first : first & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (!is_tail(p + i))
            return 1;
        v = v << 6 | ((unsigned char)p[i] & 0x3f);
    }
    if (!is_code(v, bytes))
        return 1;
    *code = v;
    return bytes;
}

size_t utf8_encode(char *p, uint32_t code)
{
    unsigned char *u = (unsigned char *)p;
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        code = UTF8_REPLACEMENT;
    if (code < 0x80) {
        u[0] = (unsigned char)code;
        return 1;
    }
    if (code < 0x800) {
        u[0] = (unsigned char)(0xc0 | code >> 6);
        u[1] = (unsigned char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        u[0] = (unsigned char)(0xe0 | code >> 12);
        u[1] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
        u[2] = (unsigned char)(0x80 | (code & 0x3f));
        return 3;
    }
    u[0] = (unsigned char)(0xf0 | code >> 18);
    u[1] = (unsigned char)(0x80 | (code >> 12 & 0x3f));
    u[2] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
    u[3] = (unsigned char)(0x80 | (code & 0x3f));
    return 4;
}

bool utf8_valid(struct slice s)
{
    const char *p = s.data;
    const char *end = s.data + s.len;
    uint32_t code;
    while (p < end) {
        size_t n;
        if ((unsigned char)*p < 0x80) {
            p++;
            continue;
        }
        n = utf8_decode(p, end, &code);
        if (n == 1)
            return false;
        p += n;
    }
    return true;
}

struct range {
    uint32_t first;
    uint32_t last;
};

/* Blocks of East Asian Wide and Fullwidth characters and of emoji (Unicode's
 * EastAsianWidth.txt, joined to blocks). */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},
    {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},
    {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},
    {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},
    {0x274c, 0x274c},   {0x2753, 0x2755},   {0x2795, 0x2797},
    {0x2b1b, 0x2b1c},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff}, {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd},
};

/* Blocks of combining marks, joiners and variation selectors. */
static const struct range narrow[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
    {0x64b, 0x65f},   {0x6d6, 0x6dc},   {0x93c, 0x93c},   {0x941, 0x948},
    {0x94d, 0x94d},   {0xe31, 0xe31},   {0xe34, 0xe3a},   {0xe47, 0xe4e},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},
    {0x2060, 0x2064}, {0x20d0, 0x20ff}, {0x302a, 0x302d}, {0x3099, 0x309a},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

static bool in_ranges(const struct range *r, size_t count, uint32_t code)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (code > r[middle].last)
            low = middle + 1;
        else if (code < r[middle].first)
            count = middle;
        else
            return true;
    }
    return false;
}

static size_t code_columns(uint32_t code)
{
    if (code < 0x20 || (code >= 0x7f && code < 0xa0))
        return 0;
    if (code < 0x300)
        return 1;
    if (in_ranges(narrow, ARRAY_LEN(narrow), code))
        return 0;
    return in_ranges(wide, ARRAY_LEN(wide), code) ? 2 : 1;
}

size_t utf8_columns(struct slice s)
{
    size_t columns = 0;
    uint32_t code;
    for (size_t at = 0; at < s.len;) {
        at += utf8_decode(s.data + at, s.data + s.len, &code);
        columns += code_columns(code);
    }
    return columns;
}
