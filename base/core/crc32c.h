/* CRC32C (Castagnoli), the checksum of every byte we store or send.
 *
 * Uses the CPU's instruction if it has one (three interleaved streams hide its
 * latency of three cycles), else a table.
 */
#ifndef BASE_CORE_CRC32C_H
#define BASE_CORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Checksum of @len bytes that follow bytes with checksum @crc (0 at first). */
uint32_t crc32c_extend(uint32_t crc, const void *data, size_t len);

static inline uint32_t crc32c(const void *data, size_t len)
{
    return crc32c_extend(0, data, len);
}

/* Checksum of bytes with checksum @crc followed by @len bytes with checksum
 * @next: joins pieces whose checksums are known. Steps of 4096 bytes: cheap
 * for such lengths, a few hundred nanoseconds at most for 64 KiB. */
uint32_t crc32c_join(uint32_t crc, uint32_t next, size_t len);

/* Copy @len bytes from @src to @dst, in one pass where the CPU can: returns
 * the checksum of bytes with checksum @crc followed by @dst, even if another
 * process changes @src meanwhile. They do not overlap. */
uint32_t
crc32c_extend_copy(uint32_t crc, void *dst, const void *src, size_t len);

static inline uint32_t crc32c_copy(void *dst, const void *src, size_t len)
{
    return crc32c_extend_copy(0, dst, src, len);
}

/* The table-driven version, for other CPUs and for tests. */
uint32_t crc32c_extend_portable(uint32_t crc, const void *data, size_t len);

#endif /* BASE_CORE_CRC32C_H */
