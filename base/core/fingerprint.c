/* Fingerprint2011 in its three lengths: a Murmur hash up to 32 bytes, two
 * 32-byte lanes up to 64, and 64-byte blocks beyond. The constants and the
 * order of the steps are part of the function: tests compare with values of the
 * original.
 */
#include "base/core/fingerprint.h"

#include <string.h>

#include "base/core/coding.h"

#define K0 UINT64_C(0xa5b85c5e198ed849)
#define K1 UINT64_C(0x8d58ac26afe12e47)
#define K2 UINT64_C(0xc47b6e9e3a970ed3)
#define K3 UINT64_C(0xc6a4a7935bd1e995)

#define SHORT_BYTES_MAX  ((size_t)32)
#define MIDDLE_BYTES_MAX ((size_t)64)
#define BLOCK_BYTES      ((size_t)64)

struct lane {
    uint64_t first;
    uint64_t second;
};

static uint64_t rotate_right(uint64_t v, unsigned bits)
{
    return v >> bits | v << (64 - bits);
}

static uint64_t shift_mix(uint64_t v)
{
    return v ^ (v >> 47);
}

static uint64_t hash_128_to_64(uint64_t high, uint64_t low)
{
    uint64_t a = shift_mix((low ^ high) * K3);
    return shift_mix((high ^ a) * K3) * K3;
}

static uint64_t hash_short(const char *p, size_t len)
{
    uint64_t hash = K0 ^ K1 ^ K2 ^ (len * K3);
    size_t whole = len & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        hash = (hash ^ shift_mix(get_le64(p + i) * K3) * K3) * K3;
    if (len > whole) {
        char rest[8] = {0};
        memcpy(rest, p + whole, len - whole);
        hash = (hash ^ get_le64(rest)) * K3;
    }
    return shift_mix(shift_mix(hash) * K3);
}

/* Four words, of which @a, @b, @c begin as given, and @z closes. */
static struct lane lane_of(const char *p, uint64_t a, uint64_t z)
{
    uint64_t b = rotate_right(a + z, 52);
    uint64_t c = rotate_right(a, 37);
    a += get_le64(p + 8);
    c += rotate_right(a, 7);
    a += get_le64(p + 16);
    return (struct lane){a + z, b + rotate_right(a, 31) + c};
}

static uint64_t hash_middle(const char *p, size_t len)
{
    const char *tail = p + len - 32;
    struct lane v = lane_of(
        p, get_le64(p) + (len + get_le64(p + len - 16)) * K0, get_le64(p + 24));
    struct lane w =
        lane_of(tail, get_le64(p + 16) + get_le64(tail), get_le64(p + len - 8));
    uint64_t r =
        shift_mix((v.first + w.second) * K2 + (w.first + v.second) * K0);
    return shift_mix(r * K0 + v.second) * K2;
}

static struct lane weak_hash(const char *p, uint64_t a, uint64_t b)
{
    uint64_t begun;
    a += get_le64(p);
    begun = a;
    b = rotate_right(b + a + get_le64(p + 24), 51);
    a += get_le64(p + 8) + get_le64(p + 16);
    b += rotate_right(a, 23);
    return (struct lane){a + get_le64(p + 24), b + begun};
}

static uint64_t hash_long(const char *p, size_t len)
{
    uint64_t x = get_le64(p);
    uint64_t y = get_le64(p + len - 16) ^ K1;
    uint64_t z = get_le64(p + len - 56) ^ K0;
    struct lane v = weak_hash(p + len - 64, len, y);
    struct lane w = weak_hash(p + len - 32, len * K1, K0);
    const char *end = p + ((len - 1) & ~(BLOCK_BYTES - 1));
    z += shift_mix(v.second) * K1;
    x = rotate_right(z + x, 39) * K1;
    y = rotate_right(y, 33) * K1;
    for (; p < end; p += BLOCK_BYTES) {
        uint64_t next;
        x = rotate_right(x + y + v.first + get_le64(p + 16), 37) * K1;
        y = rotate_right(y + v.second + get_le64(p + 48), 42) * K1;
        x ^= w.second;
        y ^= v.first;
        next = rotate_right(z ^ w.first, 33);
        v = weak_hash(p, v.second * K1, x + w.first);
        w = weak_hash(p + 32, next + w.second, y);
        z = x;
        x = next;
    }
    return hash_128_to_64(hash_128_to_64(v.first, w.first) + shift_mix(y) * K1 +
                              z,
                          hash_128_to_64(v.second, w.second) + x);
}

uint64_t fingerprint2011(struct slice bytes)
{
    const char *p = bytes.data;
    size_t len = bytes.len;
    uint64_t u = len >= 8 ? get_le64(p) : K0;
    uint64_t v = len >= 9 ? get_le64(p + len - 8) : K0;
    uint64_t hash = len <= SHORT_BYTES_MAX    ? hash_short(p, len)
                    : len <= MIDDLE_BYTES_MAX ? hash_middle(p, len)
                                              : hash_long(p, len);
    hash = hash_128_to_64(hash + v, u);
    return hash <= 1 ? hash - 2 : hash;
}

uint64_t fingerprint2011_int64(int64_t n)
{
    char bytes[8];
    put_le64(bytes, (uint64_t)n);
    return fingerprint2011(slice_make(bytes, sizeof(bytes)));
}
