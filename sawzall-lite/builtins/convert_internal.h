/* Conversions between basic types, each on one value. Private to builtins/.
 *
 * Extra arguments are interpreted once per conversion, even for a whole array.
 */
#ifndef SAWZALL_LITE_BUILTINS_CONVERT_INTERNAL_H
#define SAWZALL_LITE_BUILTINS_CONVERT_INTERNAL_H

#include "sawzall-lite/values/builtin.h"

enum saw_encoding {
    SAW_ENCODING_UTF8,
    SAW_ENCODING_LATIN1,
    SAW_ENCODING_HEX,
    SAW_ENCODING_LITERAL, /* "array-literal" */
    SAW_ENCODING_UNICODE,
    SAW_ENCODING_FIXED64_LITTLE,
    SAW_ENCODING_FIXED64_BIG,
    SAW_ENCODING_FIXED32_LITTLE,
    SAW_ENCODING_FIXED32_BIG,
    SAW_ENCODING_VARINT,
    SAW_ENCODING_ZIGZAG,
    SAW_ENCODING_NONE,
};

/* The extra arguments of a conversion, and its types. */
struct saw_conversion {
    const struct saw_type *from;
    const struct saw_type *to;
    int64_t base;
    enum saw_encoding encoding;
    struct slice zone;
    const char *source; /* The expression converted, or NULL. */
    uint64_t unread; /* Bits of fields of a proto tuple that the program never
                        reads. */
};

typedef enum saw_status (*saw_convert_fn)(struct saw_ctx *ctx,
                                          const struct saw_conversion *c,
                                          union saw_slot v,
                                          union saw_slot *result);

/* The kind of extra argument a conversion takes. */
enum saw_extra_kind {
    SAW_EXTRA_NONE,
    SAW_EXTRA_BASE,     /* int. */
    SAW_EXTRA_ENCODING, /* string, one of the text encodings. */
    SAW_EXTRA_LAYOUT,   /* string, one of the integer encodings; required. */
    SAW_EXTRA_ZONE,     /* string. */
};

/* How to get from one basic type to another; fn NULL: not at all. */
struct saw_basic_conversion {
    saw_convert_fn fn;
    enum saw_extra_kind extra;
    bool may_be_undef;
};

/* PRE: both kinds are basic and differ. */
const struct saw_basic_conversion *saw_basic_conversion(enum saw_kind from,
                                                        enum saw_kind to);

/* One function for each file's part of the table. */
enum saw_status saw_text_to_int(struct saw_ctx *ctx,
                                const struct saw_conversion *c,
                                union saw_slot v,
                                union saw_slot *result);
enum saw_status saw_text_to_uint(struct saw_ctx *ctx,
                                 const struct saw_conversion *c,
                                 union saw_slot v,
                                 union saw_slot *result);
enum saw_status saw_text_to_float(struct saw_ctx *ctx,
                                  const struct saw_conversion *c,
                                  union saw_slot v,
                                  union saw_slot *result);
enum saw_status saw_int_to_text(struct saw_ctx *ctx,
                                const struct saw_conversion *c,
                                union saw_slot v,
                                union saw_slot *result);
enum saw_status saw_text_to_bytes(struct saw_ctx *ctx,
                                  const struct saw_conversion *c,
                                  union saw_slot v,
                                  union saw_slot *result);
enum saw_status saw_bytes_to_text(struct saw_ctx *ctx,
                                  const struct saw_conversion *c,
                                  union saw_slot v,
                                  union saw_slot *result);
enum saw_status saw_bytes_to_int(struct saw_ctx *ctx,
                                 const struct saw_conversion *c,
                                 union saw_slot v,
                                 union saw_slot *result);
enum saw_status saw_int_to_bytes(struct saw_ctx *ctx,
                                 const struct saw_conversion *c,
                                 union saw_slot v,
                                 union saw_slot *result);

/* By its name in any case; SAW_ENCODING_NONE when there is none such. */
enum saw_encoding saw_encoding_find(struct slice name);

/* Proto tuples to and from the wire format of protocol buffers. Fields whose
 * bit is in @unread keep their defaults: the program never reads them. */
enum saw_status saw_proto_decode(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 uint64_t unread,
                                 struct slice wire,
                                 union saw_slot *result);
enum saw_status saw_proto_encode(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 union saw_slot v,
                                 union saw_slot *result);

#endif /* SAWZALL_LITE_BUILTINS_CONVERT_INTERNAL_H */
