/* Error messages that are built from the leaf upwards. A struct err has a
 * fixed size, so that reporting a failure never fails itself; a text that is
 * too long is cut at its end. */
#include "base/core/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Put ": " and @s after the first @at bytes of e->text, cutting at the end. */
static void add_text(struct err *e, int at, const char *s)
{
    size_t n = at < 0 ? 0 : (size_t)at;
    const char *const parts[] = {": ", s};
    for (size_t i = 0; i < 2; i++)
        for (const char *p = parts[i]; *p && n + 1 < sizeof(e->text); p++)
            e->text[n++] = *p;
    e->text[n < sizeof(e->text) ? n : sizeof(e->text) - 1] = '\0';
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list ap;
    if (!e)
        return code;
    err_init(e);
    e->code = code;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    return code;
}

static int code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE: return ERR_FULL;
    case ENOENT: return ERR_NOTFOUND;
    case EISDIR: return ERR_INVALID;
    case EEXIST: return ERR_EXISTS;
    case EACCES:
    case EROFS:
    case EPERM: return ERR_DENIED;
    case ENOMEM: return ERR_NOMEM;
    default: return ERR_IO;
    }
}

int err_set_errno(struct err *e, int errnum, const char *fmt, ...)
{
    va_list ap;
    int n;
    int rc = code_of_errno(errnum);
    if (!e)
        return rc;
    err_init(e);
    e->code = rc;
    va_start(ap, fmt);
    n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    add_text(e, n, strerror(errnum));
    return rc;
}

void err_wrap(struct err *e, const char *fmt, ...)
{
    char old[ERR_TEXT_BYTES];
    va_list ap;
    int n;
    if (!e)
        return;
    memcpy(old, e->text, sizeof(old));
    va_start(ap, fmt);
    n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    add_text(e, n, old);
}

void err_hint(struct err *e, const char *fmt, ...)
{
    va_list ap;
    if (!e)
        return;
    if (e->hint[0] == '\0') {
        va_start(ap, fmt);
        vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
        va_end(ap);
    }
}

void err_set_detail(struct err *e, enum err_detail detail, const char *subject)
{
    size_t len = strlen(subject);
    if (!e)
        return;
    e->detail = detail;
    if (len < sizeof(e->subject))
        memcpy(e->subject, subject, len + 1);
}

void err_set_retry(struct err *e, uint64_t retry_us)
{
    if (!e)
        return;
    e->detail = ERR_DETAIL_RATE;
    e->retry_us = retry_us;
}

const char *err_name(int code)
{
    switch (code) {
    case ERR_OK: return "ok";
#define X(name, value, text)                                                   \
    case ERR_##name: return text;
        ERR_CODES(X)
#undef X
    default: return "unknown error";
    }
}

int err_copy(struct err *to, const struct err *from)
{
    if (!from)
        return ERR_OK;
    if (to && to != from)
        *to = *from;
    return from->code;
}
