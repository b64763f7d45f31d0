/* Records of APPNOTE.TXT, sections 4.3.7 to 4.3.16, in the order in which they
 * stand in the file. */
#include "mapreduce/warc/zip_writer.h"

#include <libdeflate.h>

#include "base/core/panic.h"

#define ZIP_VERSION_64     45
#define ZIP_FLAG_SIZE_LAST 0x0008
#define ZIP_FLAG_UTF8      0x0800
#define ZIP_NONE_32        UINT32_MAX
#define ZIP_NONE_16        UINT16_MAX

static void put_u16(struct buf *out, uint64_t v)
{
    buf_append_byte(out, (char)(v & 0xff));
    buf_append_byte(out, (char)(v >> 8 & 0xff));
}

static void put_u32(struct buf *out, uint64_t v)
{
    put_u16(out, v & 0xffff);
    put_u16(out, v >> 16 & 0xffff);
}

static void put_u64(struct buf *out, uint64_t v)
{
    put_u32(out, v & UINT32_MAX);
    put_u32(out, v >> 32);
}

/* Days since 1970 as year, month and day (H. Hinnant, chrono-compatible
 * low-level date algorithms). */
static uint16_t dos_date_of(int64_t days)
{
    int64_t z = days + 719468;
    int64_t era = z / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int64_t day = doy - (153 * mp + 2) / 5 + 1;
    int64_t month = mp < 10 ? mp + 3 : mp - 9;
    int64_t year = yoe + era * 400 + (month <= 2);
    return (uint16_t)((year - 1980) << 9 | month << 5 | day);
}

void zip_writer_init(struct zip_writer *w, int64_t time_us)
{
    /* Years of ZIP are 1980 to 2107. */
    const int64_t first = INT64_C(315532800);
    const int64_t last = INT64_C(4354819199);
    int64_t s = time_us / 1000000;
    *w = (struct zip_writer){.count = 0};
    s = s < first ? first : s > last ? last : s;
    w->dos_date = dos_date_of(s / 86400);
    w->dos_time =
        (uint16_t)(s % 86400 / 3600 << 11 | s % 3600 / 60 << 5 | s % 60 / 2);
}

void zip_writer_close(struct zip_writer *w)
{
    buf_close(&w->central);
    buf_close(&w->name);
}

/* --- members ------------------------------------------------------------- */

/* Fields that the local header and the directory share. */
static void
put_common(const struct zip_writer *w, uint16_t flags, struct buf *out)
{
    put_u16(out, ZIP_VERSION_64);
    put_u16(out, flags);
    put_u16(out, 0); /* Stored. */
    put_u16(out, w->dos_time);
    put_u16(out, w->dos_date);
}

static void
put_local(struct zip_writer *w, uint16_t flags, uint64_t bytes, struct buf *out)
{
    bool is_large = (flags & ZIP_FLAG_SIZE_LAST) != 0;
    put_u32(out, 0x04034b50);
    put_common(w, flags, out);
    put_u32(out, w->crc);
    put_u32(out, is_large ? ZIP_NONE_32 : bytes);
    put_u32(out, is_large ? ZIP_NONE_32 : bytes);
    put_u16(out, w->name.len);
    put_u16(out, is_large ? 20 : 0);
    buf_append_slice(out, buf_slice(&w->name));
    if (!is_large)
        return;
    put_u16(out, 1); /* ZIP64: sizes of 64 bits, which come last. */
    put_u16(out, 16);
    put_u64(out, 0);
    put_u64(out, 0);
}

static void put_central(struct zip_writer *w, uint16_t flags)
{
    struct buf *out = &w->central;
    put_u32(out, 0x02014b50);
    put_u16(out, 3 << 8 | ZIP_VERSION_64); /* Made on Unix. */
    put_common(w, flags, out);
    put_u32(out, w->crc);
    put_u32(out, ZIP_NONE_32);
    put_u32(out, ZIP_NONE_32);
    put_u16(out, w->name.len);
    put_u16(out, 28);
    put_u16(out, 0); /* No comment, */
    put_u16(out, 0); /* first disk, */
    put_u16(out, 0); /* no text, */
    put_u32(out, UINT32_C(0100644) << 16);
    put_u32(out, ZIP_NONE_32);
    buf_append_slice(out, buf_slice(&w->name));
    put_u16(out, 1);
    put_u16(out, 24);
    put_u64(out, w->member_bytes);
    put_u64(out, w->member_bytes);
    put_u64(out, w->member_at);
    w->count++;
}

static void start_member(struct zip_writer *w, struct slice name)
{
    PRE(!w->is_open); /* INV-2 */
    PRE(name.len > 0 && name.len < ZIP_NONE_16);
    buf_clear(&w->name);
    buf_append_slice(&w->name, name);
    w->member_at = w->offset;
    w->member_bytes = 0;
    w->crc = 0;
}

void zip_writer_begin(struct zip_writer *w, struct slice name, struct buf *out)
{
    size_t before = out->len;
    start_member(w, name);
    w->is_open = true;
    put_local(w, ZIP_FLAG_SIZE_LAST | ZIP_FLAG_UTF8, 0, out);
    w->offset += out->len - before;
}

void zip_writer_add(struct zip_writer *w, struct slice bytes, struct buf *out)
{
    PRE(w->is_open);
    if (bytes.len == 0)
        return;
    w->crc = libdeflate_crc32(w->crc, bytes.data, bytes.len);
    w->member_bytes += bytes.len;
    w->offset += bytes.len;
    buf_append_slice(out, bytes);
}

void zip_writer_end(struct zip_writer *w, struct buf *out)
{
    size_t before = out->len;
    PRE(w->is_open);
    put_u32(out, 0x08074b50);
    put_u32(out, w->crc);
    put_u64(out, w->member_bytes);
    put_u64(out, w->member_bytes);
    w->offset += out->len - before;
    put_central(w, ZIP_FLAG_SIZE_LAST | ZIP_FLAG_UTF8);
    w->is_open = false;
}

void zip_writer_put(struct zip_writer *w,
                    struct slice name,
                    struct slice bytes,
                    struct buf *out)
{
    size_t before = out->len;
    PRE(bytes.len < ZIP_NONE_32);
    start_member(w, name);
    if (bytes.len)
        w->crc = libdeflate_crc32(0, bytes.data, bytes.len);
    w->member_bytes = bytes.len;
    put_local(w, ZIP_FLAG_UTF8, bytes.len, out);
    buf_append_slice(out, bytes);
    w->offset += out->len - before;
    put_central(w, ZIP_FLAG_UTF8);
}

void zip_writer_finish(struct zip_writer *w, struct buf *out)
{
    uint64_t at = w->offset;
    PRE(!w->is_open);
    buf_append_slice(out, buf_slice(&w->central));
    put_u32(out, 0x06064b50); /* ZIP64's end of the directory, */
    put_u64(out, 44);
    put_u16(out, 3 << 8 | ZIP_VERSION_64);
    put_u16(out, ZIP_VERSION_64);
    put_u32(out, 0);
    put_u32(out, 0);
    put_u64(out, w->count);
    put_u64(out, w->count);
    put_u64(out, w->central.len);
    put_u64(out, at);
    put_u32(out, 0x07064b50); /* where that is, */
    put_u32(out, 0);
    put_u64(out, at + w->central.len);
    put_u32(out, 1);
    put_u32(out, 0x06054b50); /* and the end for others. */
    put_u16(out, 0);
    put_u16(out, 0);
    put_u16(out, w->count < ZIP_NONE_16 ? w->count : ZIP_NONE_16);
    put_u16(out, w->count < ZIP_NONE_16 ? w->count : ZIP_NONE_16);
    put_u32(out, w->central.len < ZIP_NONE_32 ? w->central.len : ZIP_NONE_32);
    put_u32(out, at < ZIP_NONE_32 ? at : ZIP_NONE_32);
    put_u16(out, 0);
    w->offset += w->central.len + 56 + 20 + 22;
}
