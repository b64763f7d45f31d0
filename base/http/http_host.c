/* The header Host against the names of the server. Comparing is enough: no
 * name is resolved, so the check is pure and cannot be delayed. */
#include "base/http/http_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/core/slice.h"

#define ADDRESS_BYTES 64

/* The host without its port and without the brackets of IPv6. */
static struct slice name_of(struct slice host)
{
    size_t at;
    if (host.len && host.data[0] == '[') {
        at = slice_find_byte(host, ']');
        if (at + 1 < host.len && host.data[at + 1] != ':')
            return SLICE_EMPTY;
        return slice_sub(host, 1, at);
    }
    at = slice_find_byte(host, ':');
    return slice_sub(host, 0, at);
}

static bool is_address(struct slice name)
{
    char text[ADDRESS_BYTES];
    struct in6_addr a;
    if (name.len == 0 || name.len >= sizeof(text))
        return false;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    return inet_pton(AF_INET, text, &a) == 1 ||
           inet_pton(AF_INET6, text, &a) == 1;
}

static char host_lower_char(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_same(struct slice a, struct slice b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (host_lower_char(a.data[i]) != host_lower_char(b.data[i]))
            return false;
    return a.len > 0;
}

bool http_host_is_ours(const char *host, const char *names)
{
    struct slice list = slice_str(names ? names : "");
    struct slice name;
    if (!host)
        return true;
    name = name_of(slice_str(host));
    if (is_address(name) || is_same(name, SLICE_LIT("localhost")))
        return true;
    while (list.len) {
        size_t at = slice_find_byte(list, ',');
        if (is_same(name, name_of(slice_trim(slice_sub(list, 0, at)))))
            return true;
        list = slice_sub(list, at + 1, list.len);
    }
    return false;
}
