/* The table of codecs. Files name a codec by its number, and a number once
 * given is never used for another one; so the table is searched, not indexed.
 */
#include "bigtable/sstable/sstable_codec.h"

#define BLOCK_CODEC_DECLARE(constant, number, ops)                             \
    extern const struct block_codec_ops ops;
BLOCK_CODECS(BLOCK_CODEC_DECLARE)

struct codec_entry {
    enum block_codec codec;
    const struct block_codec_ops *ops;
};

#define BLOCK_CODEC_ENTRY(constant, number, ops) {constant, &ops},
static const struct codec_entry codecs[] = {BLOCK_CODECS(BLOCK_CODEC_ENTRY)};

const struct block_codec_ops *block_codec_ops(unsigned number)
{
    for (size_t i = 0; i < ARRAY_LEN(codecs); i++)
        if ((unsigned)codecs[i].codec == number)
            return codecs[i].ops;
    return NULL;
}

enum block_codec block_codec_find(enum compression compression,
                                  enum block_need need)
{
    for (size_t i = 0; i < ARRAY_LEN(codecs); i++)
        if (codecs[i].ops->compression == compression &&
            codecs[i].ops->need == need)
            return codecs[i].codec;
    return BLOCK_RAW;
}
