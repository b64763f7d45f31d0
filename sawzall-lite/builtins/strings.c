/* Strings and bytes without patterns: case, literal search, replacement.
 * Positions are counted in characters; searching and counting are linear, and
 * the work is charged, so a hostile pair of texts ends with its record. */
#define _GNU_SOURCE /* memmem */

#include <string.h>

#include "sawzall-lite/builtins/case.h"
#include "sawzall-lite/builtins/private.h"

/* --- case ---------------------------------------------------------------- */

static enum saw_status ascii_case(struct saw_ctx *ctx,
                                  const struct saw_str *s,
                                  char first,
                                  union saw_slot *result)
{
    char *out = saw_alloc(ctx, s->len);
    if (!out)
        return SAW_FAIL;
    for (size_t i = 0; i < s->len; i++) {
        unsigned char c = (unsigned char)s->data[i];
        bool letter = (unsigned)(c - (unsigned char)first) < 26;
        out[i] = (char)(letter ? c ^ 0x20 : c);
    }
    return saw_give_text(saw_string_of(ctx, slice_make(out, s->len), s->chars),
                         result);
}

/* A character's other case may take more or fewer bytes, up to 4. */
static enum saw_status change_case(struct saw_ctx *ctx,
                                   const struct saw_str *s,
                                   uint32_t (*change)(uint32_t),
                                   char first,
                                   union saw_slot *result)
{
    struct buf *b = &ctx->scratch;
    const char *p = s->data;
    const char *end = s->data + s->len;
    if (saw_str_is_ascii(s))
        return ascii_case(ctx, s, first, result);
    buf_clear(b);
    while (p < end) {
        size_t n;
        char *out = buf_reserve(b, 4);
        uint32_t c = saw_utf8_decode(p, end, &n);
        p += n;
        b->len += saw_utf8_encode(change(c), out);
    }
    return saw_give_text(saw_string_dup(ctx, buf_slice(b)), result);
}

static enum saw_status fn_lowercase(struct saw_ctx *ctx,
                                    const struct saw_call *call,
                                    const union saw_slot *args,
                                    union saw_slot *result)
{
    (void)call;
    return change_case(ctx, args[0].s, saw_rune_lower, 'A', result);
}

static enum saw_status fn_uppercase(struct saw_ctx *ctx,
                                    const struct saw_call *call,
                                    const union saw_slot *args,
                                    union saw_slot *result)
{
    (void)call;
    return change_case(ctx, args[0].s, saw_rune_upper, 'a', result);
}

/* --- search -------------------------------------------------------------- */

/* Offset of the first @pat in @s at or after @from, or SIZE_MAX: linear, by the
 * library's two-way search. */
static size_t strings_find(struct slice s, struct slice pat, size_t from)
{
    const char *p;
    if (pat.len == 0)
        return from;
    if (from >= s.len)
        return SIZE_MAX;
    p = memmem(s.data + from, s.len - from, pat.data, pat.len);
    return p ? (size_t)(p - s.data) : SIZE_MAX;
}

/* The last one. Places where much of @pat matches cost work of their own, so
 * that a hostile pair ends. False: too much, the error is set. */
static bool
find_last(struct saw_ctx *ctx, struct slice s, struct slice pat, size_t *found)
{
    *found = SIZE_MAX;
    if (pat.len > s.len)
        return true;
    for (size_t at = s.len - pat.len + 1; at-- > 0;) {
        if (pat.len == 0 || (s.data[at] == pat.data[0] &&
                             memcmp(s.data + at, pat.data, pat.len) == 0)) {
            *found = at;
            return true;
        }
        if (s.data[at] == pat.data[0] && !saw_work(ctx, pat.len / 16))
            return false;
    }
    return true;
}

/* A byte offset in a string as a count of characters, -1 for none. */
static int64_t char_index(const struct saw_str *s, size_t offset)
{
    if (offset == SIZE_MAX)
        return -1;
    if (saw_str_is_ascii(s))
        return (int64_t)offset;
    return (int64_t)saw_utf8_count(slice_make(s->data, offset));
}

static enum saw_status fn_strfind(struct saw_ctx *ctx,
                                  const struct saw_call *call,
                                  const union saw_slot *args,
                                  union saw_slot *result)
{
    (void)ctx;
    (void)call;
    result->i =
        char_index(args[1].s, strings_find(saw_str_slice(args[1].s),
                                           saw_str_slice(args[0].s), 0));
    return SAW_OK;
}

static enum saw_status fn_strrfind(struct saw_ctx *ctx,
                                   const struct saw_call *call,
                                   const union saw_slot *args,
                                   union saw_slot *result)
{
    size_t at;
    (void)call;
    if (!find_last(ctx, saw_str_slice(args[1].s), saw_str_slice(args[0].s),
                   &at))
        return SAW_FAIL;
    result->i = char_index(args[1].s, at);
    return SAW_OK;
}

static enum saw_status fn_bytesfind(struct saw_ctx *ctx,
                                    const struct saw_call *call,
                                    const union saw_slot *args,
                                    union saw_slot *result)
{
    size_t at =
        strings_find(saw_str_slice(args[1].s), saw_str_slice(args[0].s), 0);
    (void)ctx;
    (void)call;
    result->i = at == SIZE_MAX ? -1 : (int64_t)at;
    return SAW_OK;
}

static enum saw_status fn_bytesrfind(struct saw_ctx *ctx,
                                     const struct saw_call *call,
                                     const union saw_slot *args,
                                     union saw_slot *result)
{
    size_t at;
    (void)call;
    if (!find_last(ctx, saw_str_slice(args[1].s), saw_str_slice(args[0].s),
                   &at))
        return SAW_FAIL;
    result->i = at == SIZE_MAX ? -1 : (int64_t)at;
    return SAW_OK;
}

/* --- replacement --------------------------------------------------------- */

static enum saw_status fn_strreplace(struct saw_ctx *ctx,
                                     const struct saw_call *call,
                                     const union saw_slot *args,
                                     union saw_slot *result)
{
    struct slice s = saw_str_slice(args[0].s);
    struct slice lit = saw_str_slice(args[1].s);
    struct slice rep = saw_str_slice(args[2].s);
    struct buf *b = &ctx->scratch;
    size_t at = lit.len ? strings_find(s, lit, 0) : SIZE_MAX;
    size_t done = 0;

    (void)call;
    result->s = args[0].s;
    if (at == SIZE_MAX)
        return SAW_OK;
    buf_clear(b);
    do {
        buf_append(b, s.data + done, at - done);
        buf_append_slice(b, rep);
        /* A short pattern and a long replacement multiply the text. */
        if (b->len > ctx->bytes_max)
            return saw_fail(ctx, ERR_EXHAUSTED,
                            "strreplace: the result is over the memory limit");
        done = at + lit.len;
        at = strings_find(s, lit, done);
    } while (at != SIZE_MAX && args[3].i);
    buf_append(b, s.data + done, s.len - done);
    return saw_give_text(saw_string_dup(ctx, buf_slice(b)), result);
}

#define FIND_STRING "function(p: string, s: string): int"
#define FIND_BYTES  "function(p: bytes, b: bytes): int"

const struct saw_builtin saw_builtins_string[] = {
    {.name = "lowercase",
     .signature = "function(s: string): string",
     .args_min = 1,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_lowercase,
     .help = "lowercase(s): every character in lower case"},
    {.name = "uppercase",
     .signature = "function(s: string): string",
     .args_min = 1,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_uppercase,
     .help = "uppercase(s): every character in upper case"},
    {.name = "strfind",
     .signature = FIND_STRING,
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_strfind,
     .help = "strfind(p, s): where s first contains p, or -1"},
    {.name = "strrfind",
     .signature = FIND_STRING,
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_strrfind,
     .help = "strrfind(p, s): where s last contains p, or -1"},
    {.name = "bytesfind",
     .signature = FIND_BYTES,
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_bytesfind,
     .help = "bytesfind(p, b): where b first contains p, or -1"},
    {.name = "bytesrfind",
     .signature = FIND_BYTES,
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_bytesrfind,
     .help = "bytesrfind(p, b): where b last contains p, or -1"},
    {.name = "strreplace",
     .signature = "function(str: string, lit: string, rep: string, "
                  "replace_all: bool): string",
     .args_min = 4,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_strreplace,
     .help = "strreplace(s, lit, rep, all): s with rep in the place of the "
             "first, or of all, lit"},
    {.name = NULL},
};
