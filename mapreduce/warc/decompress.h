/* The compression of an archive file undone: a stream of plain bytes with a map
 * back to the file, for archive_reader.c.
 *
 * Bytes are made on demand into one buffer, whole gzip members or frames of
 * zstd, lz4, bzip2 or xz at a time while they are small, so that a record that
 * fills its member is parsed and handed out where it was decompressed.
 * Positions count decompressed bytes from the start of the input.
 *
 * A mark stands where a member starts. It tells the member's offset in the
 * file, whether the bytes before it join (a gap: something was lost there) and
 * whether the member failed its checksum (suspect).
 *
 * Damage of the compression is reported here, through report(); after it the
 * next member is sought whose first bytes decompress to something like a
 * record.
 *
 * One thread. Waits only where the input's read does. Only archive_reader.c and
 * the decompress_*.c files include this.
 */
#ifndef MAPREDUCE_WARC_DECOMPRESS_H
#define MAPREDUCE_WARC_DECOMPRESS_H

#include "base/core/buf.h"
#include "mapreduce/warc/archive_reader.h"

/* Set by the build where the library is there. */
#ifndef QUARRY_HAVE_BZIP2
#define QUARRY_HAVE_BZIP2 0
#endif
#ifndef QUARRY_HAVE_LZMA
#define QUARRY_HAVE_LZMA 0
#endif

/* Members and frames up to this size are decompressed in one piece. */
#define DECOMPRESS_WHOLE_BYTES_MAX ((size_t)16 << 20)
/* Larger ones are decompressed in steps of this size. */
#define DECOMPRESS_STEP_BYTES ((size_t)256 << 10)
/* Input is read this much at a time, */
#define DECOMPRESS_READ_BYTES ((size_t)1 << 20)
/* This much of it is kept before the place in a large member, */
#define DECOMPRESS_REWIND_BYTES ((size_t)512 << 10)
/* and a member is tried in one piece when this much of it is in the buffer. */
#define DECOMPRESS_TRY_BYTES ((size_t)4 << 20)

enum decompress_kind {
    DECOMPRESS_UNKNOWN,
    DECOMPRESS_PLAIN,
    DECOMPRESS_GZIP,
    DECOMPRESS_ZSTD,
    DECOMPRESS_LZ4,
    DECOMPRESS_BZIP2,
    DECOMPRESS_XZ
};

enum {
    DECOMPRESS_GAP = 1,
    DECOMPRESS_SUSPECT = 2
};

struct decompress_mark {
    uint64_t pos;         /* Of the first byte after it. */
    uint64_t file_offset; /* Of the member. */
    unsigned flags;
};

struct decompressor {
    struct warc_reader_options opts;
    enum decompress_kind kind;

    char *in; /* Window of the input: [in_begin, in_end) is unused. */
    size_t in_begin;
    size_t in_end;
    size_t in_cap;
    uint64_t in_offset; /* File offset of in[0]. */
    bool in_eof;

    char *out; /* Decompressed bytes: [out_begin, out_end) are not consumed. */
    size_t out_begin;
    size_t out_end;
    size_t out_cap;
    uint64_t out_pos; /* Position of out[0]. */
    bool done;        /* No more bytes will come. */
    bool damaged;     /* Some bytes were lost, or failed their checksum. */

    struct decompress_mark *marks; /* Ascending; those consumed are dropped. */
    size_t mark_count;
    size_t mark_cap;

    uint64_t member_offset; /* Of the member being decompressed in steps. */
    bool streaming;         /* There is one. */
    uint64_t end_offset;    /* File offset behind the last member made. */
    bool loss_open; /* A bad member before loss_pos was reported, its lost
                       records were not. */
    uint64_t loss_pos;
    uint64_t loss_offset; /* File offset of that member. */
    uint64_t try_budget;  /* Bytes that the search for a member may still
                             decompress. */

    void
        *deflate; /* libdeflate_decompressor, z_stream, ZSTD_DCtx, ZSTD_DDict */
    void *inflate;
    void *zstd;
    void *dict;
    void *lz4;        /* LZ4F_dctx; 8.2 MiB at most: blocks are bounded. */
    size_t lz4_wants; /* Input up to the end of the next part that can be
                         checked. */
    void *bzip2;      /* bz_stream, lzma_stream. */
    void *xz;
};

void decompress_init(struct decompressor *u);
void decompress_close(struct decompressor *u);
/* Start on another input, whose reader options are @opts (borrowed). */
void decompress_start(struct decompressor *u,
                      const struct warc_reader_options *opts);

/* Make at least @count bytes available from out_begin on, fewer only at the end
 * of the input. Moves the buffer. ERR_NOMEM, or the input's error. May park. */
MUST_CHECK int
decompress_need(struct decompressor *u, size_t count, struct err *err);
/* Drop @count bytes. PRE: they are available. */
void decompress_consume(struct decompressor *u, size_t count);

static inline const char *decompress_data(const struct decompressor *u)
{
    return u->out_end ? u->out + u->out_begin : u->out; /* May be NULL. */
}

static inline size_t decompress_avail(const struct decompressor *u)
{
    return u->out_end - u->out_begin;
}

/* Position of the next byte. */
static inline uint64_t decompress_pos(const struct decompressor *u)
{
    return u->out_pos + u->out_begin;
}

/* The last mark at or before @pos. PRE: @pos is in the buffer. */
const struct decompress_mark *decompress_mark_at(const struct decompressor *u,
                                                 uint64_t pos);
/* The first mark at or after @pos that has one of @flags (0: any); NULL: none
 * is known yet. */
const struct decompress_mark *decompress_mark_from(const struct decompressor *u,
                                                   uint64_t pos,
                                                   unsigned flags);
/* Offset in the file of the byte at @pos: of its member when compressed. */
uint64_t decompress_file_offset(const struct decompressor *u, uint64_t pos);

void decompress_report(struct decompressor *u,
                       uint64_t offset,
                       bool lost,
                       const char *fmt,
                       ...) PRINTF_LIKE(4, 5);

/* The loss with a bad member is due at the position: report it unless @told. */
void decompress_report_open_loss(struct decompressor *u, bool told);

/* --- between decompress.c and its kinds --------------------------------------
 */

/* Read @count bytes of input from in_begin on; fewer at its end. May park. */
MUST_CHECK int
decompress__input(struct decompressor *u, size_t count, struct err *err);
/* A member decompressed in steps is bad: go back to its start, or as far as the
 * window reaches, since some of its bytes may be another's. */
void decompress__rewind(struct decompressor *u);
/* Room for @count more bytes of output; NULL when memory is short. */
char *decompress__room(struct decompressor *u, size_t count);
void decompress__mark(struct decompressor *u,
                      uint64_t file_offset,
                      unsigned flags);

static inline size_t decompress__in_avail(const struct decompressor *u)
{
    return u->in_end - u->in_begin;
}

static inline uint64_t decompress__in_offset(const struct decompressor *u)
{
    return u->in_offset + u->in_begin;
}

/* "WARC/" in any case: ABNF, in which the grammar of ISO 28500 is written,
 * ignores case. */
bool decompress__is_warc(struct slice s);
/* Could @s be the start of a record? */
bool decompress__is_record(struct slice s);

/* Advance in_begin to the next good member; *@found: there is one. */
typedef int (*decompress_seek_fn)(struct decompressor *u,
                                  bool *found,
                                  struct err *err);

/* How much of a bad member is in the buffer. Unless it is nothing,
 * archive_reader.c reports its lost records. */
enum decompress_out {
    DECOMPRESS_OUT_NOTHING,
    DECOMPRESS_OUT_PART,
    DECOMPRESS_OUT_ALL /* But its checksum is wrong. */
};

/* The bytes at in_begin are not a good member: report @what at @offset of the
 * file, and find the next. */
MUST_CHECK int decompress__resync(struct decompressor *u,
                                  uint64_t offset,
                                  const char *what,
                                  enum decompress_out out,
                                  decompress_seek_fn seek,
                                  struct err *err);

/* Magic numbers of frames. */
#define DECOMPRESS_ZSTD_MAGIC  0xFD2FB528u
#define DECOMPRESS_LZ4_MAGIC   0x184D2204u
#define DECOMPRESS_BZIP2_MAGIC 0x00685A42u /* The fourth byte is free. */
#define DECOMPRESS_XZ_MAGIC    0x587A37FDu
#define DECOMPRESS_SKIPPABLE_MAGIC                                             \
    0x184D2A50u /* Of both; the low digit is free.                             \
                 */

static inline bool decompress__is_skippable(uint32_t magic)
{
    return (magic & 0xFFFFFFF0u) == DECOMPRESS_SKIPPABLE_MAGIC;
}

/* The operations of zstd, lz4, bzip2 and xz, for decompress_frames.c. */
struct decompress_frames {
    const char *name;
    uint32_t magic;
    uint32_t magic_mask;    /* Bits of the magic that are fixed. */
    uint32_t padding_bytes; /* Zeros between frames come in these units; 0:
                               there are none. */
    bool may_hide_first; /* A good frame may give nothing of its first bytes. */
    /* Decompress the first @n bytes of the frame at in[@at], fewer if it is
     * shorter. *@all: the frame has no more. False: it is bad. */
    bool (*first_bytes)(struct decompressor *u,
                        size_t at,
                        char *first,
                        size_t *n,
                        bool *all);
    /* Prepare for a frame at in_begin. */
    void (*begin)(struct decompressor *u);
    /* Decompress some of *@used bytes at in_begin into *@made bytes @to; both
     * are set to the bytes consumed and made. *@end: the frame is over. Returns
     * the error, borrowed, or NULL. */
    const char *(*decode)(struct decompressor *u,
                          char *to,
                          size_t *used,
                          size_t *made,
                          bool *end);
    /* Skip the skippable frame at in_begin, which has @n bytes after its head.
     * NULL: there are none. */
    int (*skip)(struct decompressor *u,
                uint32_t magic,
                uint32_t n,
                struct err *err);
};

extern const struct decompress_frames decompress__zstd_frames;
extern const struct decompress_frames decompress__lz4_frames;
#if QUARRY_HAVE_BZIP2
extern const struct decompress_frames decompress__bzip2_frames;
#endif
#if QUARRY_HAVE_LZMA
extern const struct decompress_frames decompress__xz_frames;
#endif

/* An decompress_seek_fn for frames of u->kind. */
MUST_CHECK int
decompress__next_frame(struct decompressor *u, bool *found, struct err *err);
/* Skip @count bytes of input; fewer at its end. */
MUST_CHECK int
decompress__skip_input(struct decompressor *u, uint64_t count, struct err *err);

/* Make some more bytes, or set u->done. */
MUST_CHECK int decompress__gzip(struct decompressor *u, struct err *err);
MUST_CHECK int decompress__frames(struct decompressor *u, struct err *err);
/* Do the bytes @at after in_begin decompress to the start of a record? */
bool decompress__gzip_holds_record(struct decompressor *u, size_t at);
bool decompress__frame_holds_record(const struct decompress_frames *f,
                                    struct decompressor *u,
                                    size_t at);
void decompress__gzip_close(struct decompressor *u);
void decompress__zstd_close(struct decompressor *u);
void decompress__lz4_close(struct decompressor *u);
void decompress__bzip2_close(struct decompressor *u);
void decompress__xz_close(struct decompressor *u);

/* Do the @n bytes at @p begin a stream of that kind? Also where the library to
 * read it was not there when this was built. */
bool decompress__is_bzip2(const char *p, size_t n);
bool decompress__is_xz(const char *p, size_t n);
void decompress__zstd_start(struct decompressor *u);

#endif /* MAPREDUCE_WARC_DECOMPRESS_H */
