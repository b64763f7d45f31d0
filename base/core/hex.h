/* Hexadecimal digits. */
#ifndef BASE_CORE_HEX_H
#define BASE_CORE_HEX_H

#include <stdbool.h>
#include <stddef.h>

/* 0 to 15, of a letter in either case; -1: @c is no such digit. */
static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The @count bytes that the 2 * @count digits at @text stand for; false, and
 * @out in part written: some are no digits. */
static inline bool
hex_decode(const char *text, size_t count, unsigned char *out)
{
    for (size_t i = 0; i < count; i++) {
        int high = hex_value(text[2 * i]);
        int low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

#endif /* BASE_CORE_HEX_H */
