/* zstd, alone and with a dictionary of the table (dictionary.h). Contexts are
 * reused, because making one costs more than compressing a block with it.
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
                            const struct dictionary *dictionary,
                            char *to,
                            size_t room)
{
    PRE(!dictionary || dictionary->encode);

    size_t n =
        dictionary
            ? ZSTD_compress_usingCDict(encoder, to, room, raw.data, raw.len,
                                       dictionary->encode)
            : ZSTD_compressCCtx(encoder, to, room, raw.data, raw.len, level);
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

static int zstd_expand(void *decoder,
                       struct slice stored,
                       const struct dictionary *dictionary,
                       char *to,
                       size_t raw_bytes,
                       struct err *err)
{
    PRE(!dictionary || dictionary->decode);

    size_t n = dictionary ? ZSTD_decompress_usingDDict(decoder, to, raw_bytes,
                                                       stored.data, stored.len,
                                                       dictionary->decode)
                          : ZSTD_decompressDCtx(decoder, to, raw_bytes,
                                                stored.data, stored.len);
    if (ZSTD_isError(n))
        return err_set(err, ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(n));
    if (n != raw_bytes)
        return err_set(err, ERR_CORRUPT, "block of %zu bytes, not %zu", n,
                       raw_bytes);
    return 0;
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
    .uses_dictionary = true,
    .encoder_new = zstd_encoder_new,
    .encoder_free = zstd_encoder_free,
    .bound = ZSTD_compressBound,
    .compress = zstd_compress,
    .decoder_new = zstd_decoder_new,
    .decoder_free = zstd_decoder_free,
    .expand = zstd_expand,
};
