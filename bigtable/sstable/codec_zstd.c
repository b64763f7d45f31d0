/* zstd: alone, with the table's dictionary (dictionary.h), and with another
 * block as the prefix (reference_finder.h). Contexts are reused, because making
 * one costs more than compressing a block with it.
 *
 * A prefix is given by ZSTD_…_refPrefix(), never as a dictionary: a block may
 * happen to begin with the magic number of one.
 */
#include <zstd.h>

#include "base/core/panic.h"
#include "bigtable/sstable/dictionary.h"
#include "bigtable/sstable/sstable_codec.h"

static void *zstd_encoder_new(void)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd)
        PANIC("no memory for a zstd context");
    return zstd;
}

static void zstd_encoder_free(void *encoder)
{
    ZSTD_freeCCtx(encoder);
}

static size_t zstd_compress(void *encoder,
                            struct slice raw,
                            int level,
                            const struct block_context *context,
                            char *to,
                            size_t room)
{
    size_t n = ZSTD_compressCCtx(encoder, to, room, raw.data, raw.len, level);
    (void)context;
    return ZSTD_isError(n) ? 0 : n;
}

static size_t zstd_compress_dictionary(void *encoder,
                                       struct slice raw,
                                       int level,
                                       const struct block_context *context,
                                       char *to,
                                       size_t room)
{
    PRE(context->dictionary->encode);

    size_t n = ZSTD_compress_usingCDict(encoder, to, room, raw.data, raw.len,
                                        context->dictionary->encode);
    (void)level; /* The dictionary was made for one. */
    return ZSTD_isError(n) ? 0 : n;
}

static size_t zstd_compress_reference(void *encoder,
                                      struct slice raw,
                                      int level,
                                      const struct block_context *context,
                                      char *to,
                                      size_t room)
{
    PRE(context->reference.len > 0);

    size_t n = ZSTD_CCtx_setParameter(encoder, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(n))
        n = ZSTD_CCtx_refPrefix(encoder, context->reference.data,
                                context->reference.len);
    if (!ZSTD_isError(n))
        n = ZSTD_compress2(encoder, to, room, raw.data, raw.len);
    if (ZSTD_isError(n)) /* It keeps neither input nor prefix. */
        ZSTD_CCtx_reset(encoder, ZSTD_reset_session_and_parameters);
    return ZSTD_isError(n) ? 0 : n;
}

static void *zstd_decoder_new(void)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    if (!zstd)
        PANIC("no memory for a zstd context");
    return zstd;
}

static void zstd_decoder_free(void *decoder)
{
    ZSTD_freeDCtx(decoder);
}

/* Was the result @n of zstd the @raw_bytes that were expected? */
static int zstd_check(size_t n, size_t raw_bytes, struct err *err)
{
    if (ZSTD_isError(n))
        return err_set(err, ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(n));
    if (n != raw_bytes)
        return err_set(err, ERR_CORRUPT, "block of %zu bytes, not %zu", n,
                       raw_bytes);
    return 0;
}

static int zstd_expand(void *decoder,
                       struct slice stored,
                       const struct block_context *context,
                       char *to,
                       size_t raw_bytes,
                       struct err *err)
{
    size_t n =
        ZSTD_decompressDCtx(decoder, to, raw_bytes, stored.data, stored.len);
    (void)context;
    return zstd_check(n, raw_bytes, err);
}

static int zstd_expand_dictionary(void *decoder,
                                  struct slice stored,
                                  const struct block_context *context,
                                  char *to,
                                  size_t raw_bytes,
                                  struct err *err)
{
    PRE(context->dictionary->decode);

    size_t n =
        ZSTD_decompress_usingDDict(decoder, to, raw_bytes, stored.data,
                                   stored.len, context->dictionary->decode);
    return zstd_check(n, raw_bytes, err);
}

static int zstd_expand_reference(void *decoder,
                                 struct slice stored,
                                 const struct block_context *context,
                                 char *to,
                                 size_t raw_bytes,
                                 struct err *err)
{
    PRE(context->reference.len > 0);

    size_t n = ZSTD_DCtx_refPrefix(decoder, context->reference.data,
                                   context->reference.len);
    if (!ZSTD_isError(n))
        n = ZSTD_decompressDCtx(decoder, to, raw_bytes, stored.data,
                                stored.len);
    /* The prefix is borrowed: the context must not keep it. */
    ZSTD_DCtx_reset(decoder, ZSTD_reset_session_and_parameters);
    return zstd_check(n, raw_bytes, err);
}

const struct block_codec_ops block_codec_zstd = {
    .compression = COMPRESSION_ZSTD,
    .encoder_new = zstd_encoder_new,
    .encoder_free = zstd_encoder_free,
    .bound = ZSTD_compressBound,
    .compress = zstd_compress,
    .decoder_new = zstd_decoder_new,
    .decoder_free = zstd_decoder_free,
    .expand = zstd_expand,
};

const struct block_codec_ops block_codec_zstd_dictionary = {
    .compression = COMPRESSION_ZSTD,
    .need = BLOCK_NEEDS_DICTIONARY,
    .encoder_new = zstd_encoder_new,
    .encoder_free = zstd_encoder_free,
    .bound = ZSTD_compressBound,
    .compress = zstd_compress_dictionary,
    .decoder_new = zstd_decoder_new,
    .decoder_free = zstd_decoder_free,
    .expand = zstd_expand_dictionary,
};

const struct block_codec_ops block_codec_zstd_reference = {
    .compression = COMPRESSION_ZSTD,
    .need = BLOCK_NEEDS_REFERENCE,
    .encoder_new = zstd_encoder_new,
    .encoder_free = zstd_encoder_free,
    .bound = ZSTD_compressBound,
    .compress = zstd_compress_reference,
    .decoder_new = zstd_decoder_new,
    .decoder_free = zstd_decoder_free,
    .expand = zstd_expand_reference,
};
