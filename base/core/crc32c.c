/* CRC32C: SSE4.2 in three streams where the CPU has it, else slicing by 8.
 *
 * The three streams are joined by multiplying with x^(8*n) modulo the
 * polynomial, by tables made at first use (Adler, crc32c.c in zlib's examples,
 * describes the method).
 */
#include "base/core/crc32c.h"

#include <pthread.h>
#include <string.h>

#include "base/core/macros.h"

#define POLY UINT32_C(0x82f63b78) /* Castagnoli, reflected. */

/* Bytes of each of the three streams. */
#define LONG_BYTES  ((size_t)4096)
#define SHORT_BYTES ((size_t)256)

static uint32_t slice_table[8][256];
static uint32_t shift_long[4][256];  /* Effect of LONG_BYTES zero bytes. */
static uint32_t shift_short[4][256]; /* Effect of SHORT_BYTES zero bytes. */
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_slice_table(void)
{
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t crc = n;
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? (crc >> 1) ^ POLY : crc >> 1;
        slice_table[0][n] = crc;
    }
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t crc = slice_table[0][n];
        for (int k = 1; k < 8; k++) {
            crc = slice_table[0][crc & 0xff] ^ (crc >> 8);
            slice_table[k][n] = crc;
        }
    }
}

static uint32_t matrix_times(const uint32_t *m, uint32_t v)
{
    uint32_t sum = 0;
    for (; v; v >>= 1, m++)
        if (v & 1)
            sum ^= *m;
    return sum;
}

static void matrix_square(uint32_t *to, const uint32_t *m)
{
    for (int n = 0; n < 32; n++)
        to[n] = matrix_times(m, m[n]);
}

/* Tables that advance a CRC over @bytes (a power of two) zero bytes. */
static void make_shift_table(uint32_t table[4][256], size_t bytes)
{
    uint32_t odd[32];
    uint32_t even[32];
    const uint32_t *op;

    odd[0] = POLY; /* One zero bit. */
    for (int n = 1; n < 32; n++)
        odd[n] = UINT32_C(1) << (n - 1);
    matrix_square(even, odd);
    matrix_square(odd, even); /* Four zero bits; squared below to bytes. */
    op = odd;
    do {
        matrix_square(even, odd);
        op = even;
        bytes >>= 1;
        if (bytes == 0)
            break;
        matrix_square(odd, even);
        op = odd;
        bytes >>= 1;
    } while (bytes);
    for (uint32_t n = 0; n < 256; n++)
        for (int k = 0; k < 4; k++)
            table[k][n] = matrix_times(op, n << (8 * k));
}

static void make_tables(void)
{
    make_slice_table();
    make_shift_table(shift_long, LONG_BYTES);
    make_shift_table(shift_short, SHORT_BYTES);
}

static uint32_t shift_crc(uint32_t (*table)[256], uint32_t crc)
{
    return table[0][crc & 0xff] ^ table[1][(crc >> 8) & 0xff] ^
           table[2][(crc >> 16) & 0xff] ^ table[3][crc >> 24];
}

uint32_t crc32c_join(uint32_t crc, uint32_t next, size_t len)
{
    if (crc == 0) /* Zero bytes do not change a CRC of 0. */
        return next;
    pthread_once(&tables_once, make_tables);
    for (; len >= LONG_BYTES; len -= LONG_BYTES)
        crc = shift_crc(shift_long, crc);
    for (; len >= SHORT_BYTES; len -= SHORT_BYTES)
        crc = shift_crc(shift_short, crc);
    for (; len; len--)
        crc = slice_table[0][crc & 0xff] ^ (crc >> 8);
    return crc ^ next;
}

uint32_t crc32c_extend_portable(uint32_t crc, const void *data, size_t len)
{
    const unsigned char *p = data;
    pthread_once(&tables_once, make_tables);
    crc = ~crc;
    while (len >= 8) {
        uint32_t lo;
        uint32_t hi;
        memcpy(&lo, p, 4);
        memcpy(&hi, p + 4, 4);
        lo ^= crc;
        crc = slice_table[7][lo & 0xff] ^ slice_table[6][(lo >> 8) & 0xff] ^
              slice_table[5][(lo >> 16) & 0xff] ^ slice_table[4][lo >> 24] ^
              slice_table[3][hi & 0xff] ^ slice_table[2][(hi >> 8) & 0xff] ^
              slice_table[1][(hi >> 16) & 0xff] ^ slice_table[0][hi >> 24];
        p += 8;
        len -= 8;
    }
    while (len--)
        crc = slice_table[0][(crc ^ *p++) & 0xff] ^ (crc >> 8);
    return ~crc;
}

#if defined(__x86_64__)

#include <nmmintrin.h>

static uint64_t crc32c_load64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* CRC of three neighbouring streams of @bytes each, joined. */
__attribute__((target("sse4.2"))) static uint32_t
three_streams(uint32_t crc,
              const unsigned char *p,
              size_t bytes,
              uint32_t (*table)[256])
{
    uint64_t a = crc;
    uint64_t b = 0;
    uint64_t c = 0;
    for (const unsigned char *end = p + bytes; p < end; p += 8) {
        a = _mm_crc32_u64(a, crc32c_load64(p));
        b = _mm_crc32_u64(b, crc32c_load64(p + bytes));
        c = _mm_crc32_u64(c, crc32c_load64(p + 2 * bytes));
    }
    crc = shift_crc(table, (uint32_t)a) ^ (uint32_t)b;
    return shift_crc(table, crc) ^ (uint32_t)c;
}

/* The same while copying the streams to @to; each word is read once. */
__attribute__((target("sse4.2"))) static uint32_t
copy_three_streams(uint32_t crc,
                   unsigned char *to,
                   const unsigned char *p,
                   size_t bytes,
                   uint32_t (*table)[256])
{
    const unsigned char *end = p + bytes;
    uint64_t a = crc;
    uint64_t b = 0;
    uint64_t c = 0;
    for (; p < end; p += 8, to += 8) {
        uint64_t u = crc32c_load64(p);
        uint64_t v = crc32c_load64(p + bytes);
        uint64_t w = crc32c_load64(p + 2 * bytes);
        /* From here on these are the values: nothing is loaded again. */
        __asm__("" : "+r"(u), "+r"(v), "+r"(w));
        a = _mm_crc32_u64(a, u);
        b = _mm_crc32_u64(b, v);
        c = _mm_crc32_u64(c, w);
        memcpy(to, &u, sizeof(u));
        memcpy(to + bytes, &v, sizeof(v));
        memcpy(to + 2 * bytes, &w, sizeof(w));
    }
    crc = shift_crc(table, (uint32_t)a) ^ (uint32_t)b;
    return shift_crc(table, crc) ^ (uint32_t)c;
}

/* PRE: @crc is inverted; so is what is returned. */
__attribute__((target("sse4.2"))) static uint32_t
copy_sse42(uint32_t crc, unsigned char *to, const unsigned char *p, size_t len)
{
    size_t n;
    uint64_t wide;
    for (n = 3 * LONG_BYTES; len >= n; to += n, p += n, len -= n)
        crc = copy_three_streams(crc, to, p, LONG_BYTES, shift_long);
    for (n = 3 * SHORT_BYTES; len >= n; to += n, p += n, len -= n)
        crc = copy_three_streams(crc, to, p, SHORT_BYTES, shift_short);
    wide = crc;
    for (; len >= 8; to += 8, p += 8, len -= 8) {
        uint64_t v = crc32c_load64(p);
        __asm__("" : "+r"(v)); /* As above. */
        wide = _mm_crc32_u64(wide, v);
        memcpy(to, &v, sizeof(v));
    }
    crc = (uint32_t)wide;
    for (; len; to++, p++, len--) {
        unsigned char c = *p;
        __asm__("" : "+r"(c));
        crc = _mm_crc32_u8(crc, c);
        *to = c;
    }
    return crc;
}

__attribute__((target("sse4.2"))) static uint32_t
extend_sse42(uint32_t crc, const unsigned char *p, size_t len)
{
    uint64_t wide;
    crc = ~crc;
    for (; len >= 3 * LONG_BYTES; p += 3 * LONG_BYTES, len -= 3 * LONG_BYTES)
        crc = three_streams(crc, p, LONG_BYTES, shift_long);
    for (; len >= 3 * SHORT_BYTES; p += 3 * SHORT_BYTES, len -= 3 * SHORT_BYTES)
        crc = three_streams(crc, p, SHORT_BYTES, shift_short);
    wide = crc;
    for (; len >= 8; p += 8, len -= 8)
        wide = _mm_crc32_u64(wide, crc32c_load64(p));
    crc = (uint32_t)wide;
    for (; len; p++, len--)
        crc = _mm_crc32_u8(crc, *p);
    return ~crc;
}

uint32_t crc32c_extend(uint32_t crc, const void *data, size_t len)
{
    if (LIKELY(__builtin_cpu_supports("sse4.2"))) {
        if (len >= 3 * SHORT_BYTES)
            pthread_once(&tables_once, make_tables);
        return extend_sse42(crc, data, len);
    }
    return crc32c_extend_portable(crc, data, len);
}

uint32_t
crc32c_extend_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
    if (UNLIKELY(!__builtin_cpu_supports("sse4.2"))) {
        if (len)
            memcpy(dst, src, len);
        return crc32c_extend_portable(crc, dst, len);
    }
    if (len >= 3 * SHORT_BYTES)
        pthread_once(&tables_once, make_tables);
    return ~copy_sse42(~crc, dst, src, len);
}

#else

uint32_t
crc32c_extend_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
    if (len)
        memcpy(dst, src, len);
    return crc32c_extend_portable(crc, dst, len);
}

uint32_t crc32c_extend(uint32_t crc, const void *data, size_t len)
{
    return crc32c_extend_portable(crc, data, len);
}

#endif
