/* Scanning of JavaScript's literals, byte by byte: no character beyond ASCII
 * matters but blanks, so that the charset need not be known. */
#include "web/replay/js_literal.h"

#include <string.h>

#include "base/core/macros.h"

unsigned char js_byte(struct slice js, size_t at)
{
    return at < js.len ? (unsigned char)js.data[at] : 0;
}

bool js_is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

bool js_is_name_start(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || c >= 0x80 || c == '\\';
}

static bool is_name_byte(unsigned char c)
{
    return js_is_name_start(c) || js_is_digit(c);
}

static bool has_at(struct slice js, size_t at, const char *text, size_t n)
{
    return js.len - at >= n && memcmp(js.data + at, text, n) == 0;
}

/* --- blanks -------------------------------------------------------------- */

/* The length of a line's end at @at: CR, LF, U+2028, U+2029. */
static size_t line_end_at(struct slice js, size_t at)
{
    unsigned char c = js_byte(js, at);
    if (at >= js.len)
        return 0;
    if (c == '\n' || c == '\r')
        return 1;
    return c == 0xe2 && js_byte(js, at + 1) == 0x80 &&
                   (js_byte(js, at + 2) | 1) == 0xa9
               ? 3
               : 0;
}

/* The length of another blank at @at, with U+00A0 and U+FEFF. */
static size_t blank_at(struct slice js, size_t at)
{
    unsigned char c = js_byte(js, at);
    if (at >= js.len)
        return 0;
    if (c == ' ' || c == '\t' || c == '\v' || c == '\f')
        return 1;
    if (c == 0xc2 && js_byte(js, at + 1) == 0xa0)
        return 2;
    return c == 0xef && js_byte(js, at + 1) == 0xbb &&
                   js_byte(js, at + 2) == 0xbf
               ? 3
               : 0;
}

static size_t skip_line(struct slice js, size_t at)
{
    while (at < js.len && !line_end_at(js, at))
        at++;
    return at;
}

/* The end of the comment at @at; @at: there is none. */
static size_t
skip_comment(struct slice js, size_t at, bool is_module, bool *lines)
{
    if (at >= js.len)
        return at;
    if (has_at(js, at, "//", 2) || (at == 0 && has_at(js, at, "#!", 2)) ||
        (!is_module &&
         (has_at(js, at, "<!--", 4) || (*lines && has_at(js, at, "-->", 3)))))
        return skip_line(js, at);
    if (!has_at(js, at, "/*", 2))
        return at;
    for (at += 2; at < js.len; at++) {
        if (has_at(js, at, "*/", 2))
            return at + 2;
        *lines = *lines || line_end_at(js, at);
    }
    return at;
}

size_t js_blanks_end(struct slice js, size_t at, bool is_module, bool *lines)
{
    for (;;) {
        size_t n = blank_at(js, at);
        size_t line = n ? 0 : line_end_at(js, at);
        size_t end = at + n + line;
        *lines = *lines || line;
        if (end == at)
            end = skip_comment(js, at, is_module, lines);
        if (end == at)
            return at;
        at = end;
    }
}

/* --- literals ------------------------------------------------------------ */

size_t js_string_end(struct slice js, size_t at)
{
    char quote = js.data[at];
    for (at++; at < js.len; at++) {
        char c = js.data[at];
        if (c == quote)
            return at + 1;
        if (c == '\n' || c == '\r')
            break;
        if (c == '\\')
            at += has_at(js, at, "\\\r\n", 3) ? 2 : 1;
    }
    return JS_NO_END;
}

size_t js_template_end(struct slice js, size_t at, bool *opens)
{
    *opens = false;
    for (; at < js.len; at++) {
        if (js.data[at] == '`')
            return at + 1;
        if (js.data[at] == '\\') {
            at++;
        } else if (has_at(js, at, "${", 2)) {
            *opens = true;
            return at + 2;
        }
    }
    return JS_NO_END;
}

size_t js_regex_end(struct slice js, size_t at)
{
    bool in_class = false;
    for (at++; at < js.len && !line_end_at(js, at); at++) {
        char c = js.data[at];
        if (c == '\\')
            at++;
        else if (c == '[')
            in_class = true;
        else if (c == ']')
            in_class = false;
        else if (c == '/' && !in_class)
            return js_name_end(js, at + 1); /* Its flags. */
    }
    return JS_NO_END;
}

size_t js_number_end(struct slice js, size_t at)
{
    unsigned char base = js_byte(js, at + 1);
    bool has_letters = js_byte(js, at) == '0' && base && strchr("xXbBoO", base);
    bool has_dot = has_letters;
    for (; at < js.len; at++) {
        unsigned char c = js_byte(js, at);
        if (c == '.' && !has_dot)
            has_dot = true;
        else if ((c == '+' || c == '-') && !has_letters &&
                 (js_byte(js, at - 1) | 0x20) == 'e')
            continue;
        else if (!is_name_byte(c))
            break;
    }
    return at;
}

size_t js_name_end(struct slice js, size_t at)
{
    while (is_name_byte(js_byte(js, at)) && !blank_at(js, at) &&
           !line_end_at(js, at))
        at++;
    return at;
}

size_t js_punctuator_end(struct slice js, size_t at)
{
    static const char *const longer[] = {"===", "...", "==", "=>",
                                         "++",  "--",  "??"};
    for (size_t i = 0; i < ARRAY_LEN(longer); i++)
        if (has_at(js, at, longer[i], strlen(longer[i])))
            return at + strlen(longer[i]);
    return at + (has_at(js, at, "?.", 2) && !js_is_digit(js_byte(js, at + 2))
                     ? 2
                     : 1);
}
