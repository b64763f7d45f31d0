/* Base64 (RFC 4648), with padding. Decoding refuses what is no base64, and
 * ignores the bits of the last character that stand for nothing: who needs
 * one text for each value compares with what base64_put() makes. */
#include "base/core/base64.h"

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/panic.h"

void base64_put(struct buf *out, struct slice s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    PRE(s.len == 0 || s.data);
    for (size_t i = 0; i < s.len; i += 3) {
        size_t left = s.len - i;
        uint32_t v = (uint32_t)(unsigned char)s.data[i] << 16;
        if (left > 1)
            v |= (uint32_t)(unsigned char)s.data[i + 1] << 8;
        if (left > 2)
            v |= (uint32_t)(unsigned char)s.data[i + 2];
        buf_append_byte(out, digits[v >> 18 & 63]);
        buf_append_byte(out, digits[v >> 12 & 63]);
        buf_append_byte(out, left > 1 ? digits[v >> 6 & 63] : '=');
        buf_append_byte(out, left > 2 ? digits[v & 63] : '=');
    }
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct slice text, struct buf *out)
{
    uint32_t bits = 0;
    if (text.len % 4 != 0)
        return false;
    while (text.len > 0 && text.data[text.len - 1] == '=')
        text.len--;
    if (text.len % 4 == 1)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.data[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 1)
            buf_append_byte(out, (char)(bits >> 4 & 0xff));
        else if (i % 4 == 2)
            buf_append_byte(out, (char)(bits >> 2 & 0xff));
        else if (i % 4 == 3)
            buf_append_byte(out, (char)(bits & 0xff));
    }
    return true;
}
