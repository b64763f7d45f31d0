/* Flat messages: structs whose members travel as an array of values, in a fixed
 * order (codec.h).
 *
 * A message has a table of its fields, struct message_field. message_put() and
 * message_get() go through that table, so that both directions agree and a
 * debugger stops in one place. The kind of a field is a pair of functions;
 * a service adds kinds of its own beside the common ones.
 *
 *     static const struct message_field move_reply_fields[] = {
 *         FIELD(move_reply, tablet, field_u64),
 *         FIELD(move_reply, from, field_u64),
 *     };
 *
 *     #define MOVE_MESSAGES(MESSAGE) MESSAGE(move_reply, "outcome of a move")
 *     MOVE_MESSAGES(MESSAGE_FUNCTIONS)
 *
 * gives move_reply_put() and move_reply_get(). The table of messages is the
 * list that fuzzers read, too. Messages with lists in them are written by hand
 * (rpc_message.h).
 *
 * Fields are only appended: LATER_FIELD() marks one that the first version of
 * the message did not have. It is zero where an older writer did not send it.
 *
 * Pure. Threads: any.
 */
#ifndef BASE_RPC_MESSAGE_FIELDS_H
#define BASE_RPC_MESSAGE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct codec_reader;
struct message_field;

/* How the fields of a kind are coded. `get` sets the member in any case; bytes
 * that break a rule of the kind make the reader bad. */
struct message_kind {
    void (*put)(const struct message_field *f, const void *m, struct buf *out);
    void (*get)(const struct message_field *f, struct codec_reader *r, void *m);
    size_t member_bytes; /* The size of the member. */
    size_t bytes_max;    /* The most bytes of a text, where it is bounded. */
};

struct message_field {
    const struct message_kind *kind;
    uint16_t at;           /* Offset of the member in the struct. */
    uint16_t there_at;     /* Of the bool that says whether it is there;
                              field_maybe alone. */
    uint16_t member_bytes; /* Its size, which is that of the kind. */
    bool is_later;
};

#define FIELD_MEMBER(type, member, field_kind)                                 \
    .kind = &(field_kind), .at = offsetof(struct type, member),                \
    .member_bytes = sizeof(((struct type *)NULL)->member)

/* One field of struct @type; @field_kind is a struct message_kind. */
#define FIELD(type, member, field_kind)                                        \
    {                                                                          \
        FIELD_MEMBER(type, member, field_kind)                                 \
    }
#define LATER_FIELD(type, member, field_kind)                                  \
    {                                                                          \
        FIELD_MEMBER(type, member, field_kind), .is_later = true               \
    }
/* A field that may be absent, as the bool @there says. */
#define MAYBE_FIELD(type, member, there, field_kind)                           \
    {                                                                          \
        FIELD_MEMBER(type, member, field_kind),                                \
            .there_at = offsetof(struct type, there)                           \
    }

/* --- kinds --------------------------------------------------------------- */

extern const struct message_kind field_u64;
extern const struct message_kind field_u32; /* Also of an enum. */
extern const struct message_kind field_u8;
extern const struct message_kind field_flag;  /* bool */
extern const struct message_kind field_bytes; /* struct slice; bounded by the
                                                 frame alone. */
extern const struct message_kind field_maybe; /* MAYBE_FIELD of a slice: absent
                                                 is not the same as empty. */

/* For kinds of bytes and texts that are bounded by `bytes_max`, or checked once
 * more: a struct slice, as binary or as a string. The bytes read are borrowed
 * from the message. */
void field_put_bytes(const struct message_field *f,
                     const void *m,
                     struct buf *out);
void field_put_text(const struct message_field *f,
                    const void *m,
                    struct buf *out);
void field_get_bounded(const struct message_field *f,
                       struct codec_reader *r,
                       void *m);
void field_put_maybe(const struct message_field *f,
                     const void *m,
                     struct buf *out);
void field_get_maybe(const struct message_field *f,
                     struct codec_reader *r,
                     void *m);

/* The member of @m that @f describes. */
static inline const void *field_of(const struct message_field *f, const void *m)
{
    return (const char *)m + f->at;
}

static inline void *field_in(const struct message_field *f, void *m)
{
    return (char *)m + f->at;
}

/* --- messages ------------------------------------------------------------ */

/* Append the struct @m, which has @fields, to @out. */
void message_put(const struct message_field *fields,
                 size_t count,
                 const void *m,
                 struct buf *out);
/* Read it; slices are borrowed from @bytes. Fields that a newer writer has
 * appended are skipped. Errors: ERR_CORRUPT: malformed @what; then members hold
 * anything. */
MUST_CHECK int message_get(const struct message_field *fields,
                           size_t count,
                           const char *what,
                           struct slice bytes,
                           void *m,
                           struct err *err);

/* TYPE_put() and TYPE_get(), the same with the type of the message. @what names
 * it in errors. */
#define MESSAGE_FUNCTIONS(type, what)                                          \
    static inline void type##_put(const struct type *m, struct buf *out)       \
    {                                                                          \
        message_put(type##_fields, ARRAY_LEN(type##_fields), m, out);          \
    }                                                                          \
                                                                               \
    MUST_CHECK static inline int type##_get(struct slice bytes,                \
                                            struct type *m, struct err *err)   \
    {                                                                          \
        return message_get(type##_fields, ARRAY_LEN(type##_fields), what,      \
                           bytes, m, err);                                     \
    }

#endif /* BASE_RPC_MESSAGE_FIELDS_H */
