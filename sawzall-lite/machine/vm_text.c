/* Operations of the machine on text; see vm.h.
 *
 * Text is immutable: changing a character makes a new text. Concatenation
 * leaves spare room after its result and extends the last result in place, so
 * s = s + x in a loop takes linear time.
 */
#include "base/core/panic.h"
#include "sawzall-lite/machine/vm.h"
#include "sawzall-lite/values/builtin.h"

static enum saw_status slice_string(struct saw_ctx *ctx,
                                    const struct saw_str *s,
                                    int64_t begin,
                                    int64_t end,
                                    union saw_slot *to)
{
    size_t from = saw_str_offset(s, (size_t)begin);
    struct slice rest = slice_make(s->data + from, s->len - from);
    struct saw_str tail = {rest.data, rest.len, s->chars - (size_t)begin};
    size_t n = saw_str_offset(&tail, (size_t)(end - begin));

    to->s = saw_string_of(ctx, slice_make(rest.data, n), (size_t)(end - begin));
    return to->s ? SAW_OK : SAW_FAIL;
}

enum saw_status saw_op_text_slice(struct saw_ctx *ctx,
                                  bool bytes,
                                  const struct saw_str *s,
                                  int64_t begin,
                                  int64_t end,
                                  union saw_slot *to)
{
    saw_clamp(&begin, &end, s->chars);
    if (!bytes)
        return slice_string(ctx, s, begin, end, to);
    to->s =
        saw_bytes_of(ctx, slice_make(s->data + begin, (size_t)(end - begin)));
    return to->s ? SAW_OK : SAW_FAIL;
}

/* --- making -------------------------------------------------------------- */

/* Spare room after a text made by concatenation. */
static size_t vm_text_slack(size_t len)
{
    return len < 64 ? 0 : len;
}

enum saw_status saw_op_concat(struct saw_ctx *ctx,
                              const struct saw_str *a,
                              const struct saw_str *b,
                              union saw_slot *to)
{
    size_t len = a->len + b->len;
    struct saw_str *s;
    char *p;

    if (b->len == 0 || a->len == 0) {
        to->s = a->len ? a : b;
        return SAW_OK;
    }
    s = saw_alloc(ctx, sizeof(*s));
    if (!s)
        return SAW_FAIL;
    if (ctx->text_end && a->data + a->len == ctx->text_end &&
        b->len <= (size_t)(ctx->text_limit - ctx->text_end)) {
        p = ctx->text_end - a->len; /* No text holds the bytes after it yet. */
    } else {
        p = saw_alloc(ctx, len + vm_text_slack(len));
        if (!p)
            return SAW_FAIL;
        memcpy(p, a->data, a->len);
        ctx->text_limit = p + len + vm_text_slack(len);
    }
    memcpy(p + a->len, b->data, b->len);
    ctx->text_end = p + len;
    POST(ctx->text_end <= ctx->text_limit);
    *s = (struct saw_str){p, len, a->chars + b->chars};
    to->s = s;
    return SAW_OK;
}

enum saw_status saw_op_make_text(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 const union saw_slot *items,
                                 size_t count,
                                 union saw_slot *to)
{
    struct saw_str *s = saw_alloc(ctx, sizeof(*s) + count * 4);
    size_t len = 0;
    size_t i;
    char *p;

    if (!s)
        return SAW_FAIL;
    p = (char *)(s + 1);
    for (i = 0; i < count; i++) {
        uint64_t c = items[i].u;
        size_t n = 1;
        if (t->kind == SAW_BYTES)
            p[len] = (char)(unsigned char)c;
        else
            n = c == 0 || c > 0x10ffff ? 0
                                       : saw_utf8_encode((uint32_t)c, p + len);
        if (n == 0)
            return saw_undef(ctx, "illegal unicode character U+%x",
                             (unsigned)c);
        len += n;
    }
    INVARIANT(count <= len && len <= count * 4);
    *s = (struct saw_str){p, len, count};
    to->s = s;
    return SAW_OK;
}

enum saw_status saw_op_new_text(struct saw_ctx *ctx,
                                const struct saw_type *t,
                                int64_t len,
                                union saw_slot init,
                                union saw_slot *to)
{
    char cp[4];
    size_t n;
    size_t i;
    struct saw_str *s;
    char *p;

    if (len < 0)
        return saw_undef(ctx, "negative length in new()");
    if (t->kind == SAW_BYTES) {
        cp[0] = (char)(unsigned char)init.u;
        n = 1;
    } else {
        n = init.u == 0 || init.u > 0x10ffff
                ? 0
                : saw_utf8_encode((uint32_t)init.u, cp);
    }
    if (n == 0)
        return saw_undef(ctx,
                         "illegal unicode character U+%x creating new string",
                         (unsigned)init.u);
    if ((uint64_t)len > SIZE_MAX / 8)
        return saw_fail(ctx, ERR_EXHAUSTED, "new(): too long");
    s = saw_alloc(ctx, sizeof(*s) + (size_t)len * n);
    if (!s)
        return SAW_FAIL;
    p = (char *)(s + 1);
    for (i = 0; i < (size_t)len; i++)
        memcpy(p + i * n, cp, n);
    *s = (struct saw_str){p, (size_t)len * n, (size_t)len};
    to->s = s;
    return SAW_OK;
}

/* --- changing ------------------------------------------------------------ */

/* @s with bytes [from, to) replaced by @with. */
static enum saw_status vm_text_splice(struct saw_ctx *ctx,
                                      const struct saw_str *s,
                                      size_t from,
                                      size_t to,
                                      const char *with,
                                      size_t with_len,
                                      size_t chars,
                                      union saw_slot *out)
{
    size_t len = s->len - (to - from) + with_len;
    struct saw_str *c = saw_alloc(ctx, sizeof(*c) + len);
    char *p;

    PRE(from <= to && to <= s->len && chars <= len);
    if (!c)
        return SAW_FAIL;
    p = (char *)(c + 1);
    memcpy(p, s->data, from);
    memcpy(p + from, with, with_len);
    memcpy(p + from + with_len, s->data + to, s->len - to);
    *c = (struct saw_str){p, len, chars};
    out->s = c;
    return SAW_OK;
}

enum saw_status saw_op_char_set(struct saw_ctx *ctx,
                                bool bytes,
                                union saw_slot *text,
                                int64_t index,
                                int64_t value)
{
    const struct saw_str *s = text->s;
    char cp[4];
    size_t from;
    size_t to;
    size_t n;

    if (index < 0 || (size_t)index >= s->chars)
        return saw_undef(
            ctx, "index out of bounds (index = %lld, %s length = %zu)",
            (long long)index, bytes ? "bytes" : "string", s->chars);
    if (bytes) {
        cp[0] = (char)(unsigned char)value;
        return vm_text_splice(ctx, s, (size_t)index, (size_t)index + 1, cp, 1,
                              s->len, text);
    }
    n = value <= 0 || value > 0x10ffff ? 0
                                       : saw_utf8_encode((uint32_t)value, cp);
    if (n == 0)
        return saw_undef(ctx,
                         "character value (%lld) is NUL, negative or too large",
                         (long long)value);
    from = saw_str_offset(s, (size_t)index);
    to = saw_str_offset(s, (size_t)index + 1);
    return vm_text_splice(ctx, s, from, to, cp, n, s->chars, text);
}

enum saw_status saw_op_text_slice_set(struct saw_ctx *ctx,
                                      union saw_slot *whole,
                                      const union saw_slot *bounds)
{
    int64_t begin = bounds[0].i;
    int64_t end = bounds[1].i;
    const struct saw_str *s = whole->s;
    const struct saw_str *with = bounds[2].s;

    saw_clamp(&begin, &end, s->chars);
    return vm_text_splice(ctx, s, saw_str_offset(s, (size_t)begin),
                          saw_str_offset(s, (size_t)end), with->data, with->len,
                          s->chars - (size_t)(end - begin) + with->chars,
                          whole);
}

/* --- saw ----------------------------------------------------------------- */

/* regs[0] gets the pieces; regs[1 + i] is argument i. Patterns up to a `rest`
 * make one group; the rest of the text goes to that argument's register. */
enum saw_status saw_op_saw(struct saw_ctx *ctx,
                           const struct saw_call *site,
                           union saw_slot *regs)
{
    bool counted = site->arg_types[0]->kind == SAW_INT;
    const struct saw_str *patterns[SAW_CALL_ARGS_MAX];
    uint8_t flags[SAW_CALL_ARGS_MAX];
    struct saw_array *pieces = NULL;
    const struct saw_str *text = regs[counted ? 2 : 1].s;
    int64_t count = counted ? regs[1].i : site->once ? 1 : INT64_MAX;
    size_t i = counted ? 2 : 1;
    enum saw_status st;

    PRE(site->arg_count <= SAW_CALL_ARGS_MAX && site->flags);
    while (i < site->arg_count) {
        size_t n = 0;
        for (; i < site->arg_count && site->flags[i] != ARG_REST; i++) {
            patterns[n] = regs[1 + i].s;
            flags[n++] = site->flags[i] == ARG_SKIP       ? SAW_SAW_SKIP
                         : site->flags[i] == ARG_SUBMATCH ? SAW_SAW_SUBMATCH
                                                          : SAW_SAW_PLAIN;
        }
        st = n ? saw_saw(ctx, &text, count, patterns, flags, n, &pieces)
               : SAW_OK;
        if (st != SAW_OK)
            return st;
        if (i < site->arg_count)
            regs[1 + i++].s = text;
    }
    if (!pieces)
        pieces = saw_array_new(ctx, 0);
    regs[0].a = pieces;
    return pieces ? SAW_OK : SAW_FAIL;
}
