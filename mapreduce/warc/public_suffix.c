/* libpsl wants names in their usual order and ended by a NUL; row keys have
 * them reversed. A domain is a suffix of its host, so that its length alone
 * names it in the reversed form too. */
#include "mapreduce/warc/public_suffix.h"

#include <libpsl.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/warc/url.h"

/* Of DNS: longer names are none. */
#define NAME_BYTES_MAX 253

struct public_suffixes {
    psl_ctx_t *own; /* NULL: the built-in list. */
    const psl_ctx_t *list;
};

struct public_suffixes *public_suffixes_new(void)
{
    struct public_suffixes *p = mem_zalloc(1, sizeof(*p));
    p->own = psl_latest(NULL);
    p->list = p->own ? p->own : psl_builtin();
    PRE(p->list != NULL); /* Debian's libpsl has a list in it. */
    return p;
}

void public_suffixes_free(struct public_suffixes *p)
{
    if (!p)
        return;
    psl_free(p->own);
    mem_free(p);
}

struct slice public_suffixes_domain(const struct public_suffixes *p,
                                    struct slice reversed)
{
    struct buf host = BUF_INIT;
    const char *domain;
    size_t len = reversed.len;
    PRE(p != NULL);
    if (len > NAME_BYTES_MAX || url_is_ip(reversed))
        return reversed;
    url_reverse_host(reversed, &host);
    domain = psl_registrable_domain(p->list, buf_cstr(&host));
    if (domain && host.len == len)
        len = strlen(domain);
    buf_close(&host);
    return slice_sub(reversed, 0, len);
}
