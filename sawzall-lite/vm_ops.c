/* Operations of the machine on text, arrays, maps and tuples; see vm.h. */
#include "base/core/panic.h"
#include "sawzall-lite/builtins/saw.h"
#include "sawzall-lite/vm.h"

/* --- slices -------------------------------------------------------------- */

/* Bounds are clamped: a slice always has a value. */
static void clamp(int64_t *begin, int64_t *end, size_t len)
{
    int64_t n = (int64_t)len;

    if (*begin < 0)
        *begin = 0;
    if (*end > n)
        *end = n;
    if (*begin > *end)
        *begin = *end > 0 ? *end : 0;
    if (*end < *begin)
        *end = *begin;
}

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

static enum saw_status slice_array(struct saw_ctx *ctx,
                                   const struct saw_type *t,
                                   const struct saw_array *a,
                                   int64_t begin,
                                   int64_t end,
                                   union saw_slot *to)
{
    struct saw_array *c = saw_array_new(ctx, (size_t)(end - begin));
    size_t i;

    if (!c)
        return SAW_FAIL;
    for (i = 0; i < c->len; i++) {
        c->items[i] = a->items[(size_t)begin + i];
        saw_share(t->elem, c->items[i]);
    }
    to->a = c;
    return SAW_OK;
}

enum saw_status saw_op_slice(struct saw_ctx *ctx,
                             enum saw_opcode op,
                             const struct saw_type *t,
                             union saw_slot from,
                             int64_t begin,
                             int64_t end,
                             union saw_slot *to)
{
    if (op == SAW_OP_ASLICE) {
        clamp(&begin, &end, from.a->len);
        return slice_array(ctx, t, from.a, begin, end, to);
    }
    clamp(&begin, &end, from.s->chars);
    if (op == SAW_OP_SSLICE)
        return slice_string(ctx, from.s, begin, end, to);
    to->s = saw_bytes_of(
        ctx, slice_make(from.s->data + begin, (size_t)(end - begin)));
    return to->s ? SAW_OK : SAW_FAIL;
}

/* --- making -------------------------------------------------------------- */

/* Room behind a text made by concatenation, so that building one piece by piece
 * takes linear time. */
static size_t slack(size_t len)
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
        p = ctx->text_end - a->len; /* Nobody has the bytes behind it yet. */
    } else {
        p = saw_alloc(ctx, len + slack(len));
        if (!p)
            return SAW_FAIL;
        memcpy(p, a->data, a->len);
        ctx->text_limit = p + len + slack(len);
    }
    memcpy(p + a->len, b->data, b->len);
    ctx->text_end = p + len;
    *s = (struct saw_str){p, len, a->chars + b->chars};
    to->s = s;
    return SAW_OK;
}

enum saw_status saw_op_array_add(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 struct saw_array *a,
                                 struct saw_array *b,
                                 union saw_slot *to)
{
    struct saw_array *c = saw_array_new(ctx, a->len + b->len);
    size_t i;

    if (!c)
        return SAW_FAIL;
    if (a->len)
        memcpy(c->items, a->items, a->len * sizeof(*c->items));
    if (b->len)
        memcpy(c->items + a->len, b->items, b->len * sizeof(*c->items));
    if (t->elem->kind >= SAW_ARRAY) {
        for (i = 0; i < c->len; i++)
            saw_share(t->elem, c->items[i]);
    }
    to->a = c;
    return SAW_OK;
}

enum saw_status saw_op_append(struct saw_ctx *ctx,
                              const struct saw_type *t,
                              struct saw_array *b,
                              union saw_slot *to)
{
    struct saw_array *a = to->a;
    size_t len = a->len;
    size_t extra = b->len;
    union saw_slot *items;
    size_t cap;
    size_t i;

    if (a->shared || len + extra > a->cap) {
        cap = len + extra + (len + extra) / 2 + 4;
        items = saw_alloc(ctx, cap * sizeof(*items));
        if (!items)
            return SAW_FAIL;
        if (len)
            memcpy(items, a->items, len * sizeof(*items));
        if (a->shared) {
            for (i = 0; i < len && t->elem->kind >= SAW_ARRAY; i++)
                saw_share(t->elem, items[i]);
            a = saw_alloc(ctx, sizeof(*a));
            if (!a)
                return SAW_FAIL;
        }
        *a = (struct saw_array){items, len, cap, false};
    }
    for (i = 0; i < extra; i++) {
        a->items[len + i] = b->items[i];
        saw_share(t->elem, b->items[i]);
    }
    a->len = len + extra;
    to->a = a;
    return SAW_OK;
}

enum saw_status saw_op_array(struct saw_ctx *ctx,
                             const union saw_slot *items,
                             size_t count,
                             union saw_slot *to)
{
    struct saw_array *a = saw_array_new(ctx, count);

    if (!a)
        return SAW_FAIL;
    if (count)
        memcpy(a->items, items, count * sizeof(*items));
    to->a = a;
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
    *s = (struct saw_str){p, len, count};
    to->s = s;
    return SAW_OK;
}

enum saw_status saw_op_tuple(struct saw_ctx *ctx,
                             const struct saw_type *t,
                             const union saw_slot *fields,
                             union saw_slot *to)
{
    struct saw_tuple *v = saw_tuple_new(ctx, t);
    size_t i;

    if (!v)
        return SAW_FAIL;
    if (t->field_count)
        memcpy(v->fields, fields, t->field_count * sizeof(*fields));
    for (i = 0; v->present && i < t->field_count; i++)
        v->present[i / 64] |= UINT64_C(1) << (i % 64);
    to->t = v;
    return SAW_OK;
}

enum saw_status saw_op_map(struct saw_ctx *ctx,
                           const struct saw_type *t,
                           const union saw_slot *pairs,
                           size_t count,
                           union saw_slot *to)
{
    struct saw_map *m = saw_map_new(ctx, count);
    size_t i;

    for (i = 0; m && i < count; i++) {
        if (saw_op_map_set(ctx, t, m, pairs[2 * i], pairs[2 * i + 1]) != SAW_OK)
            return SAW_FAIL;
    }
    to->m = m;
    return m ? SAW_OK : SAW_FAIL;
}

enum saw_status saw_op_new(struct saw_ctx *ctx,
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
    if (t->kind == SAW_ARRAY) {
        to->a = saw_array_new(ctx, (size_t)len);
        if (!to->a)
            return SAW_FAIL;
        saw_share(t->elem, init);
        for (i = 0; i < to->a->len; i++)
            to->a->items[i] = init;
        return SAW_OK;
    }
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

enum saw_status
saw_op_own(struct saw_ctx *ctx, const struct saw_type *t, union saw_slot *v)
{
    if (t->kind == SAW_ARRAY)
        v->a = saw_array_own(ctx, t, v->a);
    else if (t->kind == SAW_MAP)
        v->m = saw_map_own(ctx, t, v->m);
    else if (t->kind == SAW_TUPLE)
        v->t = saw_tuple_own(ctx, t, v->t);
    return v->p ? SAW_OK : SAW_FAIL;
}

enum saw_status saw_op_map_set(struct saw_ctx *ctx,
                               const struct saw_type *t,
                               struct saw_map *m,
                               union saw_slot key,
                               union saw_slot value)
{
    bool made;
    struct saw_map_entry *e = saw_map_add(ctx, m, t, key, &made);

    if (!e)
        return SAW_FAIL;
    if (made)
        saw_share(t->key, key);
    e->value = value;
    return SAW_OK;
}

/* @s with bytes [from, to) replaced by @with. */
static enum saw_status splice(struct saw_ctx *ctx,
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
        return splice(ctx, s, (size_t)index, (size_t)index + 1, cp, 1, s->len,
                      text);
    }
    n = value < 0 || value > 0x10ffff ? 0
                                      : saw_utf8_encode((uint32_t)value, cp);
    if (n == 0)
        return saw_undef(ctx, "%lld is not a character", (long long)value);
    from = saw_str_offset(s, (size_t)index);
    to = saw_str_offset(s, (size_t)index + 1);
    return splice(ctx, s, from, to, cp, n, s->chars, text);
}

static enum saw_status array_slice_set(struct saw_ctx *ctx,
                                       const struct saw_type *t,
                                       union saw_slot *whole,
                                       int64_t begin,
                                       int64_t end,
                                       struct saw_array *with)
{
    struct saw_array *a = whole->a;
    size_t tail;
    struct saw_array *c;
    size_t i;

    clamp(&begin, &end, a->len);
    tail = a->len - (size_t)end;
    c = saw_array_new(ctx, (size_t)begin + with->len + tail);
    if (!c)
        return SAW_FAIL;
    for (i = 0; i < c->len; i++) {
        if (i < (size_t)begin)
            c->items[i] = a->items[i];
        else if (i < (size_t)begin + with->len)
            c->items[i] = with->items[i - (size_t)begin];
        else
            c->items[i] = a->items[i - (size_t)begin - with->len + (size_t)end];
        saw_share(t->elem, c->items[i]);
    }
    whole->a = c;
    return SAW_OK;
}

enum saw_status saw_op_slice_set(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 enum saw_kind kind,
                                 union saw_slot *whole,
                                 const union saw_slot *bounds)
{
    int64_t begin = bounds[0].i;
    int64_t end = bounds[1].i;
    const struct saw_str *s = whole->s;
    const struct saw_str *with = bounds[2].s;

    if (kind == SAW_ARRAY)
        return array_slice_set(ctx, t, whole, begin, end, bounds[2].a);
    clamp(&begin, &end, s->chars);
    return splice(ctx, s, saw_str_offset(s, (size_t)begin),
                  saw_str_offset(s, (size_t)end), with->data, with->len,
                  s->chars - (size_t)(end - begin) + with->chars, whole);
}

enum saw_status saw_op_clear_field(struct saw_ctx *ctx,
                                   const struct saw_type *t,
                                   size_t field,
                                   union saw_slot *tuple)
{
    struct saw_tuple *v = saw_tuple_own(ctx, t, tuple->t);

    if (!v || !saw_value_zero(ctx, t->fields[field].type, &v->fields[field]))
        return SAW_FAIL;
    if (v->present)
        v->present[field / 64] &= ~(UINT64_C(1) << (field % 64));
    tuple->t = v;
    return SAW_OK;
}

enum saw_status saw_op_union_keys(struct saw_ctx *ctx,
                                  const struct saw_type *t,
                                  const struct saw_map *m,
                                  union saw_slot *keys)
{
    const struct saw_array *old = keys->a;
    struct saw_array *a = saw_array_new(ctx, old->len + m->count);
    uint32_t i;
    size_t k;

    if (!a)
        return SAW_FAIL;
    if (old->len)
        memcpy(a->items, old->items, old->len * sizeof(*a->items));
    a->len = old->len;
    for (i = 0; i < m->count; i++) {
        for (k = 0; k < old->len; k++) {
            if (saw_value_equal(t->key, a->items[k], m->entries[i].key))
                break;
        }
        if (k == old->len)
            a->items[a->len++] = m->entries[i].key;
    }
    keys->a = a;
    return SAW_OK;
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

/* --- rows ---------------------------------------------------------------- */

static bool is_column(const struct saw_cell *c, struct slice name)
{
    size_t n = c->family.len;

    return name.len == n + 1 + c->qualifier.len &&
           memcmp(name.data, c->family.data, n) == 0 && name.data[n] == ':' &&
           (c->qualifier.len == 0 ||
            memcmp(name.data + n + 1, c->qualifier.data, c->qualifier.len) ==
                0);
}

static size_t find_column(const struct saw_row *row, struct slice name)
{
    size_t i;

    for (i = 0; i < row->cell_count; i++) {
        if (is_column(&row->cells[i], name))
            break;
    }
    return i;
}

static enum saw_status
lazy_cell(struct saw_vm *vm, struct slice column, union saw_slot *to)
{
    size_t i = find_column(vm->row, column);

    if (i == vm->row->cell_count)
        return saw_undef(&vm->ctx, "the row has no column \"%.*s\"",
                         SLICE_ARG(column));
    to->s = saw_bytes_of(&vm->ctx, vm->row->cells[i].value);
    return to->s ? SAW_OK : SAW_FAIL;
}

enum saw_status
saw_op_column(struct saw_vm *vm, struct slice column, union saw_slot *to)
{
    const struct saw_row *row = vm->row;
    size_t from = find_column(row, column);
    size_t end = from;
    struct saw_array *a;

    if (from == row->cell_count)
        return saw_undef(&vm->ctx, "the row has no column \"%.*s\"",
                         SLICE_ARG(column));
    while (end < row->cell_count && is_column(&row->cells[end], column))
        end++;
    a = saw_array_new(&vm->ctx, end - from);
    for (size_t i = from; a && i < end; i++) {
        a->items[i - from].t = saw_run_cell(&vm->ctx, &row->cells[i]);
        if (!a->items[i - from].t)
            return SAW_FAIL;
    }
    to->a = a;
    return a ? SAW_OK : SAW_FAIL;
}

enum saw_status saw_op_cell_of(struct saw_vm *vm,
                               const struct saw_tuple *row,
                               const struct saw_str *column,
                               union saw_slot *to)
{
    union saw_slot key = {.s = column};
    struct saw_map_entry *e;

    if (vm->lazy_row)
        return lazy_cell(vm, saw_str_slice(column), to);
    e = saw_map_find(row->fields[1].m, vm->row_type->fields[1].type, key);
    if (!e || e->value.a->len == 0)
        return saw_undef(&vm->ctx, "the row has no column \"%.*s\"",
                         SLICE_ARG(saw_str_slice(column)));
    to->s = e->value.a->items[0].t->fields[1].s;
    return SAW_OK;
}
