/* Proto tuples to and from the wire format of protocol buffers.
 *
 * Reading skips fields that the tuple does not have, and fields of another
 * wire type than their own, as the published interpreter does; a malformed
 * message gives no value. Repeated fields become arrays, packed ones too.
 * Absent fields have their defaults and are not in inproto().
 */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "sawzall-lite/builtins/convert_internal.h"
#include "sawzall-lite/builtins/private.h"

enum wire {
    WIRE_VARINT,
    WIRE_64,
    WIRE_BYTES,
    WIRE_GROUP,
    WIRE_END,
    WIRE_32
};

static bool is_present(const struct saw_tuple *t, size_t field)
{
    return !t->present || (t->present[field / 64] >> field % 64 & 1);
}

static void set_present(struct saw_tuple *t, size_t field)
{
    if (t->present)
        t->present[field / 64] |= UINT64_C(1) << field % 64;
}

/* --- reading ------------------------------------------------------------- */

struct reader {
    struct saw_ctx *ctx;
    struct cursor c;
    int depth;
    uint64_t unread; /* Bits of fields of the outermost tuple to skip. */
};

static bool skip_field(struct reader *r, uint64_t tag, int depth)
{
    struct cursor *c = &r->c;
    switch ((enum wire)(tag & 7)) {
    case WIRE_VARINT: cursor_varint(c); break;
    case WIRE_64: cursor_bytes(c, 8); break;
    case WIRE_32: cursor_bytes(c, 4); break;
    case WIRE_BYTES: cursor_lslice(c); break;
    case WIRE_GROUP:
        for (;;) {
            uint64_t inner = cursor_varint(c);
            if (c->bad || depth > SAW_TYPE_DEPTH_MAX)
                return false;
            if ((inner & 7) == WIRE_END)
                return inner >> 3 == tag >> 3;
            if (!skip_field(r, inner, depth + 1))
                return false;
        }
    case WIRE_END:
    default: return false;
    }
    return !c->bad;
}

static uint64_t read_le32(struct reader *r, uint8_t proto)
{
    uint32_t v = cursor_le32(&r->c);
    return proto == SAW_PROTO_SFIXED32 ? (uint64_t)(int64_t)(int32_t)v : v;
}

static bool read_word(struct reader *r,
                      const struct saw_type *t,
                      uint8_t proto,
                      enum wire wire,
                      union saw_slot *out)
{
    if (wire == WIRE_VARINT)
        out->u = cursor_varint(&r->c);
    else if (wire == WIRE_64)
        out->u = cursor_le64(&r->c);
    else if (wire == WIRE_32)
        out->u = read_le32(r, proto);
    else
        return false;
    if (proto == SAW_PROTO_SINT32 || proto == SAW_PROTO_SINT64)
        out->i = zigzag_decode(out->u);
    if (t->kind == SAW_BOOL)
        out->i = out->u != 0;
    return !r->c.bad;
}

static bool read_float(struct reader *r, enum wire wire, union saw_slot *out)
{
    float f;
    uint32_t bits;
    if (wire == WIRE_64) {
        out->f = cursor_double(&r->c);
        return !r->c.bad;
    }
    if (wire != WIRE_32)
        return false;
    bits = cursor_le32(&r->c);
    memcpy(&f, &bits, sizeof(f));
    out->f = (double)f;
    return !r->c.bad;
}

static enum saw_status
read_text(struct reader *r, const struct saw_type *t, union saw_slot *out)
{
    struct slice s = cursor_lslice(&r->c);
    struct saw_conversion c = {
        .from = &saw_type_bytes, .to = t, .encoding = SAW_ENCODING_UTF8};
    union saw_slot bytes;
    if (r->c.bad)
        return SAW_UNDEF;
    bytes.s = saw_bytes_of(r->ctx, s);
    if (!bytes.s)
        return SAW_FAIL;
    if (t->kind == SAW_STRING)
        return saw_bytes_to_text(r->ctx, &c, bytes, out);
    *out = bytes;
    return SAW_OK;
}

static enum saw_status read_tuple(struct reader *r,
                                  const struct saw_type *t,
                                  uint64_t group,
                                  union saw_slot *out);

static enum saw_status read_message(struct reader *r,
                                    const struct saw_type *t,
                                    uint64_t tag,
                                    union saw_slot *out)
{
    struct reader sub = {.ctx = r->ctx, .depth = r->depth + 1};
    if ((tag & 7) == WIRE_GROUP) {
        enum saw_status status;
        r->depth++;
        status = read_tuple(r, t, tag >> 3, out);
        r->depth--;
        return status;
    }
    sub.c = cursor_make(cursor_lslice(&r->c));
    return r->c.bad ? SAW_UNDEF : read_tuple(&sub, t, 0, out);
}

/* SAW_UNDEF with the cursor good: of another wire type, to be skipped. */
static enum saw_status read_item(struct reader *r,
                                 const struct saw_type *t,
                                 uint8_t proto,
                                 uint64_t tag,
                                 union saw_slot *out)
{
    enum wire wire = (enum wire)(tag & 7);
    bool ok;
    if (t->kind == SAW_TUPLE)
        return wire == WIRE_BYTES || wire == WIRE_GROUP
                   ? read_message(r, t, tag, out)
                   : SAW_UNDEF;
    if (t->kind == SAW_STRING || t->kind == SAW_BYTES)
        return wire == WIRE_BYTES ? read_text(r, t, out) : SAW_UNDEF;
    if (!saw_kind_is_basic(t->kind))
        return SAW_UNDEF;
    ok = t->kind == SAW_FLOAT ? read_float(r, wire, out)
                              : read_word(r, t, proto, wire, out);
    return ok ? SAW_OK : SAW_UNDEF;
}

static bool
proto_append(struct saw_ctx *ctx, struct saw_array **a, union saw_slot v)
{
    struct saw_array *old = *a;
    if (old->len == old->cap) {
        struct saw_array *grown = saw_array_new(ctx, old->len * 2 + 4);
        if (!grown)
            return false;
        if (old->len)
            memcpy(grown->items, old->items, old->len * sizeof(v));
        grown->cap = grown->len;
        grown->len = old->len;
        *a = grown;
    }
    (*a)->items[(*a)->len++] = v;
    return true;
}

static enum wire packed_wire(const struct saw_field *f)
{
    int proto = f->proto;
    if (proto == SAW_PROTO_FIXED32 || proto == SAW_PROTO_SFIXED32 ||
        proto == SAW_PROTO_FLOAT)
        return WIRE_32;
    if (proto == SAW_PROTO_FIXED64 || proto == SAW_PROTO_SFIXED64 ||
        proto == SAW_PROTO_DOUBLE || f->type->elem->kind == SAW_FLOAT)
        return WIRE_64;
    return WIRE_VARINT;
}

static bool is_packable(const struct saw_type *elem)
{
    return saw_kind_is_basic(elem->kind) && elem->kind != SAW_STRING &&
           elem->kind != SAW_BYTES;
}

static enum saw_status read_repeated(struct reader *r,
                                     const struct saw_field *f,
                                     uint64_t tag,
                                     union saw_slot *out)
{
    const struct saw_type *elem = f->type->elem;
    struct reader packed = {.ctx = r->ctx, .depth = r->depth};
    union saw_slot v;
    enum saw_status status;

    if ((tag & 7) != WIRE_BYTES || !is_packable(elem)) {
        status = read_item(r, elem, f->proto, tag, &v);
        if (status == SAW_OK && !proto_append(r->ctx, &out->a, v))
            return SAW_FAIL;
        return status;
    }
    packed.c = cursor_make(cursor_lslice(&r->c));
    while (packed.c.p < packed.c.end) {
        status = read_item(&packed, elem, f->proto, packed_wire(f), &v);
        if (status != SAW_OK)
            return status;
        if (!proto_append(r->ctx, &out->a, v))
            return SAW_FAIL;
    }
    return SAW_OK;
}

static enum saw_status proto_malformed(struct reader *r)
{
    return saw_undef(r->ctx, "malformed protocol buffer");
}

static const struct saw_field *
find_field(const struct saw_type *t, uint64_t number, size_t *index)
{
    for (size_t i = 0; i < t->field_count; i++) {
        if ((uint64_t)t->fields[i].tag == number) {
            *index = i;
            return &t->fields[i];
        }
    }
    return NULL;
}

static enum saw_status read_field(struct reader *r,
                                  const struct saw_type *t,
                                  struct saw_tuple *tuple,
                                  uint64_t tag)
{
    size_t i = 0;
    const struct saw_field *f = find_field(t, tag >> 3, &i);
    struct cursor before = r->c;
    enum saw_status status;

    if (!f || (r->depth == 0 && i < 64 && (r->unread >> i & 1)))
        return skip_field(r, tag, 0) ? SAW_OK : proto_malformed(r);
    if (f->type->kind == SAW_ARRAY)
        status = read_repeated(r, f, tag, &tuple->fields[i]);
    else
        status = read_item(r, f->type, f->proto, tag, &tuple->fields[i]);
    if (status == SAW_OK)
        set_present(tuple, i);
    if (status == SAW_OK || status == SAW_FAIL)
        return status;
    r->c = before;
    return skip_field(r, tag, 0) ? SAW_OK : proto_malformed(r);
}

/* A message to its end, or a group (@group its number) to its end tag. */
static enum saw_status read_tuple(struct reader *r,
                                  const struct saw_type *t,
                                  uint64_t group,
                                  union saw_slot *out)
{
    if (r->depth > SAW_TYPE_DEPTH_MAX)
        return proto_malformed(r);
    if (!saw_value_zero(r->ctx, t, out))
        return SAW_FAIL;
    while (r->c.p < r->c.end) {
        uint64_t tag = cursor_varint(&r->c);
        enum saw_status status;
        if (r->c.bad || tag >> 3 == 0)
            return proto_malformed(r);
        if ((tag & 7) == WIRE_END)
            return group && tag >> 3 == group ? SAW_OK : proto_malformed(r);
        status = read_field(r, t, out->t, tag);
        if (status != SAW_OK)
            return status;
    }
    return group ? proto_malformed(r) : SAW_OK;
}

static bool has_required(const struct saw_type *t, const struct saw_tuple *v)
{
    for (size_t i = 0; i < t->field_count; i++) {
        if (t->fields[i].required && !is_present(v, i))
            return false;
    }
    return true;
}

enum saw_status saw_proto_decode(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 uint64_t unread,
                                 struct slice wire,
                                 union saw_slot *result)
{
    struct reader r = {.ctx = ctx, .c = cursor_make(wire), .unread = unread};
    enum saw_status status;

    PRE(t->kind == SAW_TUPLE && t->proto);
    status = read_tuple(&r, t, 0, result);
    if (status == SAW_OK && !has_required(t, result->t))
        return saw_undef(ctx, "a required field is missing");
    return status;
}

/* --- writing ------------------------------------------------------------- */

static void put_tag(struct buf *out, int32_t number, enum wire wire)
{
    buf_put_varint(out, (uint64_t)(uint32_t)number << 3 | (uint64_t)wire);
}

static int default_proto(enum saw_kind kind)
{
    if (kind == SAW_FLOAT)
        return SAW_PROTO_DOUBLE;
    return kind == SAW_FINGERPRINT || kind == SAW_TIME ? SAW_PROTO_FIXED64
                                                       : SAW_PROTO_UINT64;
}

static void put_number(struct buf *out,
                       const struct saw_type *t,
                       const struct saw_field *f,
                       union saw_slot v)
{
    int proto = f->proto ? f->proto : default_proto(t->kind);
    float single = t->kind == SAW_FLOAT ? (float)v.f : 0;
    uint32_t bits;
    switch (proto) {
    case SAW_PROTO_FLOAT:
        put_tag(out, f->tag, WIRE_32);
        memcpy(&bits, &single, sizeof(bits));
        buf_put_le32(out, bits);
        break;
    case SAW_PROTO_FIXED32:
    case SAW_PROTO_SFIXED32:
        put_tag(out, f->tag, WIRE_32);
        buf_put_le32(out, (uint32_t)v.u);
        break;
    case SAW_PROTO_DOUBLE:
    case SAW_PROTO_FIXED64:
    case SAW_PROTO_SFIXED64:
        put_tag(out, f->tag, WIRE_64);
        buf_put_le64(out, v.u);
        break;
    case SAW_PROTO_SINT32:
    case SAW_PROTO_SINT64:
        put_tag(out, f->tag, WIRE_VARINT);
        buf_put_varint(out, zigzag_encode(v.i));
        break;
    case SAW_PROTO_INT32:
    case SAW_PROTO_UINT32:
        put_tag(out, f->tag, WIRE_VARINT);
        buf_put_varint(out, (uint64_t)(int64_t)(int32_t)v.i);
        break;
    default:
        put_tag(out, f->tag, WIRE_VARINT);
        buf_put_varint(out, v.u);
        break;
    }
}

static void
put_tuple(struct buf *out, const struct saw_type *t, const struct saw_tuple *v);

static void put_item(struct buf *out,
                     const struct saw_type *t,
                     const struct saw_field *f,
                     union saw_slot v)
{
    if (t->kind == SAW_TUPLE) {
        struct buf sub = BUF_INIT;
        if (t->message) {
            put_tag(out, f->tag, WIRE_BYTES);
            put_tuple(&sub, t, v.t);
            buf_put_lslice(out, buf_slice(&sub));
            buf_close(&sub);
            return;
        }
        put_tag(out, f->tag, WIRE_GROUP);
        put_tuple(out, t, v.t);
        put_tag(out, f->tag, WIRE_END);
    } else if (t->kind == SAW_STRING || t->kind == SAW_BYTES) {
        put_tag(out, f->tag, WIRE_BYTES);
        buf_put_lslice(out, saw_str_slice(v.s));
    } else if (saw_kind_is_basic(t->kind)) {
        put_number(out, t, f, v);
    }
}

static void
put_tuple(struct buf *out, const struct saw_type *t, const struct saw_tuple *v)
{
    for (size_t i = 0; i < t->field_count; i++) {
        const struct saw_field *f = &t->fields[i];
        if (!is_present(v, i))
            continue;
        if (f->type->kind != SAW_ARRAY) {
            put_item(out, f->type, f, v->fields[i]);
            continue;
        }
        for (size_t k = 0; k < v->fields[i].a->len; k++)
            put_item(out, f->type->elem, f, v->fields[i].a->items[k]);
    }
}

/* Only values of recursive types can be. */
static bool too_deep(const struct saw_type *t, union saw_slot v, unsigned depth)
{
    if (depth > SAW_TYPE_DEPTH_MAX)
        return true;
    if (t->kind == SAW_ARRAY && !saw_kind_is_basic(t->elem->kind)) {
        for (size_t i = 0; i < v.a->len; i++) {
            if (too_deep(t->elem, v.a->items[i], depth))
                return true;
        }
    } else if (t->kind == SAW_TUPLE) {
        for (size_t i = 0; i < t->field_count; i++) {
            if (too_deep(t->fields[i].type, v.t->fields[i], depth + 1))
                return true;
        }
    }
    return false;
}

enum saw_status saw_proto_encode(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 union saw_slot v,
                                 union saw_slot *result)
{
    struct buf out = BUF_INIT;
    if (!has_required(t, v.t))
        return saw_undef(ctx, "a required field is missing");
    if (too_deep(t, v, 0))
        return saw_undef(ctx, "messages nested over %d deep",
                         SAW_TYPE_DEPTH_MAX);
    put_tuple(&out, t, v.t);
    result->s = saw_bytes_dup(ctx, buf_slice(&out));
    buf_close(&out);
    return result->s ? SAW_OK : SAW_FAIL;
}

/* --- inprotocount -------------------------------------------------------- */

static const struct saw_type *check_inprotocount(struct saw_check *c)
{
    if (c->arg_count != 1 || (c->arg_types[0]->kind != SAW_TUPLE &&
                              c->arg_types[0]->kind != SAW_BAD))
        return saw_check_fail(c, c->arg_count == 1 ? 0 : -1,
                              "inprotocount() takes one proto tuple");
    return &saw_type_int;
}

/* Fields present in @v and what is in it; only of proto tuples. */
static int64_t
count_present(const struct saw_type *t, union saw_slot v, unsigned depth)
{
    int64_t n = 0;
    if (depth > SAW_VALUE_DEPTH_MAX)
        return 0;
    if (t->kind == SAW_ARRAY) {
        for (size_t i = 0; i < v.a->len; i++)
            n += count_present(t->elem, v.a->items[i], depth + 1);
    } else if (t->kind == SAW_TUPLE && t->proto) {
        for (size_t i = 0; i < t->field_count; i++) {
            if (is_present(v.t, i))
                n += 1 + count_present(t->fields[i].type, v.t->fields[i],
                                       depth + 1);
        }
    }
    return n;
}

static enum saw_status fn_inprotocount(struct saw_ctx *ctx,
                                       const struct saw_call *call,
                                       const union saw_slot *args,
                                       union saw_slot *result)
{
    if (!call->arg_types[0]->proto)
        return saw_undef(ctx,
                         "inprotocount: can only be called with proto tuples");
    result->i = count_present(call->arg_types[0], args[0], 0);
    return SAW_OK;
}

const struct saw_builtin saw_builtins_proto[] = {
    {.name = "inprotocount",
     .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,
     .fn = fn_inprotocount,
     .check = check_inprotocount,
     .help = "inprotocount(t): how many fields a proto tuple has, also inside"},
    {.name = NULL},
};
