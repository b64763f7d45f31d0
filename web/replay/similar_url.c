/* Which arguments of a query matter, and of which files none does. The rules
 * are tables, so that they can be compared with pywb's.
 */
#include "web/replay/similar_url.h"

#include <string.h>
#include <strings.h>

#include "base/core/macros.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/url.h"

bool similar_url_is_file(struct slice url)
{
    /* Programs' names: their query says what they make. */
    static const char *const programs[] = {"asp", "aspx", "jsp", "php",
                                           "pl",  "exe",  "dll"};
    struct url parts;
    struct slice path;
    size_t dot;
    url_split(url, &parts);
    path = parts.path;
    dot = path.len;
    while (dot && path.data[dot - 1] != '.' && path.data[dot - 1] != '/')
        dot--;
    /* ".profile" has a name and no extension. */
    if (dot < 2 || path.data[dot - 1] != '.' || path.data[dot - 2] == '/')
        return false;
    path = slice_sub(path, dot, path.len);
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (http_slice_is(path, programs[i]))
            return false;
    return path.len > 0;
}

bool similar_url_is_stream(struct slice media)
{
    static const char *const streams[] = {
        "application/x-shockwave-flash", "application/dash+xml",
        "application/x-mpegurl", "application/vnd.apple.mpegurl"};
    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        if (http_slice_is(media, streams[i]))
            return true;
    return false;
}

static bool all_digits(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
    return s.len > 0;
}

static bool argument_matters(struct slice argument)
{
    static const char *const busters[] = {"_", "cb", "uncache"};
    size_t n = slice_find_byte(argument, '=');
    struct slice name = slice_sub(argument, 0, n);
    struct slice value = slice_sub(argument, n + 1, argument.len);
    if (n == argument.len)
        return true;
    if (slice_starts_with(name, SLICE_LIT("utm_")) && value.len)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(busters); i++)
        if (slice_eq_str(name, busters[i]))
            return !all_digits(value);
    return true;
}

void similar_url_plain(struct slice surt, struct buf *out)
{
    size_t n = slice_find_byte(surt, '?');
    char between = '?';
    buf_append_slice(out, slice_sub(surt, 0, n));
    surt = slice_sub(surt, n + 1, surt.len);
    while (surt.len) {
        struct slice argument;
        n = slice_find_byte(surt, '&');
        argument = slice_sub(surt, 0, n);
        surt = slice_sub(surt, n + 1, surt.len);
        if (!argument_matters(argument))
            continue;
        buf_append_byte(out, between);
        buf_append_slice(out, argument);
        between = '&';
    }
}
