/* Bytes in other forms: base64, zlib, gzip, comma-separated values. Sizes of
 * decompressed bytes come from the input, so they are bounded by the run's
 * memory limit and by a constant. */
#include <ctype.h>
#include <string.h>
#include <zlib.h>

#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"

/* --- base64 -------------------------------------------------------------- */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char websafe_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Padded with '=' unless websafe. */
static enum saw_status fn_tobase64(struct saw_ctx *ctx,
                                   const struct saw_call *call,
                                   const union saw_slot *args,
                                   union saw_slot *result)
{
    struct slice s = saw_str_slice(args[0].s);
    const char *digits = args[1].i ? websafe_digits : base64_digits;
    char *out = saw_alloc(ctx, (s.len + 2) / 3 * 4);
    size_t n = 0;

    (void)call;
    if (!out)
        return SAW_FAIL;
    for (size_t i = 0; i < s.len; i += 3) {
        size_t have = MIN_OF(s.len - i, (size_t)3);
        uint32_t v = (uint32_t)(unsigned char)s.data[i] << 16;
        if (have > 1)
            v |= (uint32_t)(unsigned char)s.data[i + 1] << 8;
        if (have > 2)
            v |= (uint32_t)(unsigned char)s.data[i + 2];
        for (size_t k = 0; k <= have; k++)
            out[n++] = digits[v >> (18 - 6 * k) & 63];
        for (size_t k = have; k < 3 && !args[1].i; k++)
            out[n++] = '=';
    }
    return saw_give_text(saw_bytes_of(ctx, slice_make(out, n)), result);
}

static int base64_value(char c, const char *digits)
{
    const char *p = c ? strchr(digits, c) : NULL;
    return p ? (int)(p - digits) : -1;
}

/* Spaces are skipped; padding may be missing, but where it is present it must
 * be right, and nothing may follow. */
static bool
decode_base64(struct slice s, const char *digits, char *out, size_t *length)
{
    uint32_t v = 0;
    unsigned bits = 0;
    size_t count = 0;
    size_t pad = 0;
    *length = 0;
    for (size_t i = 0; i < s.len; i++) {
        int d = base64_value(s.data[i], digits);
        if (isspace((unsigned char)s.data[i]))
            continue;
        if (s.data[i] == '=') {
            pad++;
            continue;
        }
        if (d < 0 || pad)
            return false;
        count++;
        v = v << 6 | (uint32_t)d;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[(*length)++] = (char)(v >> bits);
        }
    }
    return count % 4 != 1 && (pad == 0 || (count + pad) % 4 == 0) && pad < 3;
}

static enum saw_status fn_frombase64(struct saw_ctx *ctx,
                                     const struct saw_call *call,
                                     const union saw_slot *args,
                                     union saw_slot *result)
{
    struct slice s = saw_str_slice(args[0].s);
    char *out = saw_alloc(ctx, s.len + 1);
    size_t n;
    (void)call;
    if (!out)
        return SAW_FAIL;
    if (!decode_base64(s, args[1].i ? websafe_digits : base64_digits, out, &n))
        return saw_undef(ctx, "Failed to decode base64 string '%.*s'",
                         SLICE_ARG(slice_sub(s, 0, 100)));
    return saw_give_text(saw_bytes_of(ctx, slice_make(out, n)), result);
}

/* --- deflate ------------------------------------------------------------- */

#define WINDOW_RAW  (-15)
#define WINDOW_ZLIB 15
#define WINDOW_GZIP (15 + 16)
#define CHUNK_BYTES 65536
/* Largest result of one call, whatever the memory limit of the run. */
#define UNPACKED_BYTES_MAX ((size_t)1 << 30)

typedef int (*zlib_step)(z_stream *z, int flush);

/* Run @step until the stream ends, the output in ctx->scratch. */
static enum saw_status run_zlib(struct saw_ctx *ctx,
                                z_stream *z,
                                zlib_step step,
                                struct slice in,
                                int *rc)
{
    struct buf *b = &ctx->scratch;
    size_t max = MIN_OF(ctx->bytes_max, UNPACKED_BYTES_MAX);

    if (in.len > UINT32_MAX)
        return saw_undef(ctx, "%zu bytes are too many to compress", in.len);
    buf_clear(b);
    z->next_in = (Bytef *)(uintptr_t)in.data; /* zlib does not write to it. */
    z->avail_in = (uInt)in.len;
    do {
        z->next_out = (Bytef *)buf_reserve(b, CHUNK_BYTES);
        z->avail_out = CHUNK_BYTES;
        *rc = step(z, Z_FINISH);
        INVARIANT(z->avail_out <= CHUNK_BYTES);
        b->len += CHUNK_BYTES - z->avail_out;
        if (b->len > max)
            return saw_fail(ctx, ERR_EXHAUSTED,
                            "the decompressed data is over %zu bytes", max);
    } while (*rc == Z_OK || (*rc == Z_BUF_ERROR && z->avail_out == 0));
    return SAW_OK;
}

static enum saw_status compress_bytes(struct saw_ctx *ctx,
                                      struct slice in,
                                      int window,
                                      union saw_slot *result)
{
    z_stream z = {0};
    enum saw_status status;
    int rc = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8,
                          Z_DEFAULT_STRATEGY);
    INVARIANT(rc == Z_OK);
    status = run_zlib(ctx, &z, deflate, in, &rc);
    deflateEnd(&z);
    if (status != SAW_OK)
        return status;
    INVARIANT(rc == Z_STREAM_END);
    return saw_give_text(saw_bytes_dup(ctx, buf_slice(&ctx->scratch)), result);
}

/* @exact: bytes after the end are an error. */
static enum saw_status uncompress_bytes(struct saw_ctx *ctx,
                                        struct slice in,
                                        int window,
                                        bool exact,
                                        union saw_slot *result)
{
    z_stream z = {0};
    enum saw_status status;
    int rc = inflateInit2(&z, window);
    INVARIANT(rc == Z_OK);
    status = run_zlib(ctx, &z, inflate, in, &rc);
    if (status == SAW_OK && (rc != Z_STREAM_END || (exact && z.avail_in > 0)))
        status = saw_undef(ctx, "failed to decompress data: %s",
                           z.msg                ? z.msg
                           : rc == Z_STREAM_END ? "bytes after the end"
                                                : "the data is cut short");
    inflateEnd(&z);
    if (status != SAW_OK)
        return status;
    return saw_give_text(saw_bytes_dup(ctx, buf_slice(&ctx->scratch)), result);
}

static enum saw_status fn_zlibcompress(struct saw_ctx *ctx,
                                       const struct saw_call *call,
                                       const union saw_slot *args,
                                       union saw_slot *result)
{
    (void)call;
    return compress_bytes(ctx, saw_str_slice(args[0].s),
                          args[1].i ? WINDOW_RAW : WINDOW_ZLIB, result);
}

static enum saw_status fn_zlibuncompress(struct saw_ctx *ctx,
                                         const struct saw_call *call,
                                         const union saw_slot *args,
                                         union saw_slot *result)
{
    (void)call;
    return uncompress_bytes(ctx, saw_str_slice(args[0].s),
                            args[1].i ? WINDOW_RAW : WINDOW_ZLIB, true, result);
}

static enum saw_status fn_gzip(struct saw_ctx *ctx,
                               const struct saw_call *call,
                               const union saw_slot *args,
                               union saw_slot *result)
{
    (void)call;
    return compress_bytes(ctx, saw_str_slice(args[0].s), WINDOW_GZIP, result);
}

static enum saw_status fn_gunzip(struct saw_ctx *ctx,
                                 const struct saw_call *call,
                                 const union saw_slot *args,
                                 union saw_slot *result)
{
    (void)call;
    return uncompress_bytes(ctx, saw_str_slice(args[0].s), WINDOW_GZIP, false,
                            result);
}

/* --- comma-separated values ---------------------------------------------- */

struct fields {
    struct saw_ctx *ctx;
    struct slice *v; /* Owned. */
    size_t count;
    size_t cap;
    bool full; /* The memory limit was met. */
};

static void add_field(struct fields *f, struct slice s)
{
    if (f->count == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 16;
        f->v = mem_realloc(f->v, f->cap * sizeof(*f->v));
    }
    f->v[f->count++] = s;
}

/* The quoted field that begins after @p; returns its end. Doubled quotes
 * inside stand for one, for which the text is copied. */
static const char *
quoted_field(struct fields *f, const char *p, const char *end)
{
    char *out = saw_alloc(f->ctx, (size_t)(end - p));
    size_t n = 0;
    if (!out) {
        f->full = true;
        return end;
    }
    while (p < end) {
        if (*p == '"' && (++p == end || *p != '"'))
            break;
        out[n++] = *p++;
    }
    add_field(f, slice_make(out, n));
    p = p < end ? memchr(p, ',', (size_t)(end - p)) : NULL;
    return p ? p : end;
}

/* Split one line into fields; blanks around them are dropped. */
static void split_line(struct fields *f, struct slice line)
{
    const char *p = line.data;
    const char *end = line.data + line.len;
    while (p < end && !f->full) {
        const char *comma;
        while (p < end && isspace((unsigned char)*p))
            p++;
        if (p < end && *p == '"') {
            p = quoted_field(f, p + 1, end);
        } else {
            comma = p < end ? memchr(p, ',', (size_t)(end - p)) : NULL;
            if (!comma)
                comma = end;
            add_field(f, slice_trim(slice_make(p, (size_t)(comma - p))));
            p = comma;
        }
        if (p + 1 == end && *p == ',') /* The line ends with a comma. */
            add_field(f, SLICE_EMPTY);
        p++;
    }
}

static enum saw_status give_fields(struct fields *f, union saw_slot *result)
{
    struct saw_array *a =
        f->full ? NULL : saw_array_of_texts(f->ctx, SAW_BYTES, f->v, f->count);
    mem_free(f->v);
    result->a = a;
    return a ? SAW_OK : SAW_FAIL;
}

static enum saw_status fn_splitcsvline(struct saw_ctx *ctx,
                                       const struct saw_call *call,
                                       const union saw_slot *args,
                                       union saw_slot *result)
{
    struct fields f = {.ctx = ctx};
    (void)call;
    split_line(&f, saw_str_slice(args[0].s));
    return give_fields(&f, result);
}

/* Move the fields numbered in @which, from 1, to @all; a field that the line
 * does not have is empty. */
static bool pick_fields(struct fields *all,
                        struct slice line,
                        const struct saw_array *which)
{
    struct fields f = {.ctx = all->ctx};
    bool good = true;
    split_line(&f, line);
    for (size_t i = 0; i < which->len && good; i++) {
        int64_t n = which->items[i].i;
        if (n < 1)
            good = false;
        else
            add_field(all, (uint64_t)n <= f.count ? f.v[n - 1] : SLICE_EMPTY);
    }
    all->full |= f.full;
    mem_free(f.v);
    return good;
}

static enum saw_status fn_splitcsv(struct saw_ctx *ctx,
                                   const struct saw_call *call,
                                   const union saw_slot *args,
                                   union saw_slot *result)
{
    struct fields f = {.ctx = ctx};
    struct slice rest = saw_str_slice(args[0].s);
    (void)call;
    while (rest.len > 0) {
        size_t n = slice_find_byte(rest, '\n');
        if (!pick_fields(&f, slice_sub(rest, 0, n), args[1].a)) {
            mem_free(f.v);
            return saw_undef(ctx, "splitcsv: fields are numbered from 1");
        }
        rest = slice_sub(rest, n + 1, rest.len);
    }
    return give_fields(&f, result);
}

const struct saw_builtin saw_builtins_codec[] = {
    {.name = "tobase64",
     .signature = "function(input: bytes, websafe: bool): bytes",
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_tobase64,
     .help = "tobase64(b, websafe): in base64"},
    {.name = "frombase64",
     .signature = "function(input: bytes, websafe: bool): bytes",
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,
     .fn = fn_frombase64,
     .help = "frombase64(b, websafe): what was in base64"},
    {.name = "zlibcompress",
     .signature = "function(uncompressed_data: bytes, skip_header: bool): "
                  "bytes",
     .args_min = 2,
     .flags = SAW_BUILTIN_UNDEF,
     .fn = fn_zlibcompress,
     .help = "zlibcompress(b, raw): in zlib's format"},
    {.name = "zlibuncompress",
     .signature = "function(compressed_data: bytes, skip_header: bool, "
                  "buffer_size: int): bytes",
     .args_min = 2,
     .flags = SAW_BUILTIN_UNDEF,
     .fn = fn_zlibuncompress,
     .help = "zlibuncompress(b, raw): what was in zlib's format"},
    {.name = "gzip",
     .signature = "function(uncompressed_data: bytes): bytes",
     .args_min = 1,
     .flags = SAW_BUILTIN_UNDEF,
     .fn = fn_gzip,
     .help = "gzip(b): in gzip's format"},
    {.name = "gunzip",
     .signature = "function(compressed_data: bytes): bytes",
     .args_min = 1,
     .flags = SAW_BUILTIN_UNDEF,
     .fn = fn_gunzip,
     .help = "gunzip(b): what was in gzip's format"},
    {.name = "splitcsvline",
     .signature = "function(csv: bytes): array of bytes",
     .args_min = 1,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_splitcsvline,
     .help = "splitcsvline(b): the fields of a line of comma-separated values"},
    {.name = "splitcsv",
     .signature = "function(csv: bytes, fields: array of int): array of bytes",
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,
     .fn = fn_splitcsv,
     .help = "splitcsv(b, fields): the fields numbered, of every line"},
    {.name = NULL},
};
