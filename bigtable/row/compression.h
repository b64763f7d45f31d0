/* Compressions of a locality group, as its options name them and its schema
 * stores them. A new one is a line here, with a number that is only appended,
 * and its codecs in sstable/sstable_codec.h.
 */
#ifndef BIGTABLE_ROW_COMPRESSION_H
#define BIGTABLE_ROW_COMPRESSION_H

/* X(suffix of the constant, name in options); in the order of the numbers. */
#define COMPRESSION_LIST(X)                                                    \
    X(NONE, "none")                                                            \
    X(ZSTD, "zstd")

#define COMPRESSION_CONSTANT(suffix, name) COMPRESSION_##suffix,

enum compression {
    COMPRESSION_LIST(COMPRESSION_CONSTANT) COMPRESSION_COUNT
};

#undef COMPRESSION_CONSTANT

#endif /* BIGTABLE_ROW_COMPRESSION_H */
