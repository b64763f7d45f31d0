/* Byte streams between processes: TCP and Unix-domain sockets, used from
 * fibers.
 *
 * Addresses: "host:port" with a name or an IPv4 or [IPv6] literal, port 0 for
 * any free one; "unix:/path"; "unix:@name" outside the file system, for which
 * stream_connect() accepts only a server of the same user or of root. In the
 * simulated world any such text names a listener in memory, and bytes take
 * options.network_us to arrive.
 *
 * A stream belongs to the loop of the fiber that made it. At most one fiber
 * reads it and one writes it at a time; they may be two. Reads and writes try
 * the socket first and park only when it is empty or full; nothing is queued in
 * between, so a slow reader slows its writer down.
 *
 * Deadlines and cancellation of the calling fiber end every call that parks. A
 * write that was ended in this way may have sent a part: close the stream then.
 */
#ifndef BASE_RUNTIME_STREAM_H
#define BASE_RUNTIME_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct stream;
struct stream_listener;

/* Listen on @address for the loop of the running fiber. *@out is owned. A
 * Unix socket's path that no process serves any more is reused. Errors:
 * ERR_INVALID (the address), ERR_BUSY (in use), ERR_DENIED, ERR_IO. */
MUST_CHECK int stream_listen(const char *address,
                             struct stream_listener **out,
                             struct err *err);
/* The address with the port that was chosen. Borrowed. */
const char *stream_listener_address(const struct stream_listener *l);
/* The next connection. Parks. ERR_CLOSED once the listener is closed. While the
 * process has no descriptor left it waits; one beyond those for connections
 * (descriptors.h) is closed at once. */
MUST_CHECK int
stream_accept(struct stream_listener *l, struct stream **out, struct err *err);
/* NULL is allowed. A fiber inside stream_accept() gets ERR_CLOSED. */
void stream_listener_close(struct stream_listener *l);

/* Connect to @address. Parks. *@out is owned.
 * Errors: ERR_UNAVAILABLE (unreachable; refused, which ERR_DETAIL_REFUSED
 * says), ERR_INVALID, ERR_NOTFOUND (no
 * such host), ERR_DEADLINE, ERR_CANCELLED, ERR_IO. */
MUST_CHECK int
stream_connect(const char *address, struct stream **out, struct err *err);

/* Read at least one byte and at most @len; *@got 0 at the end of the stream.
 * Parks. Errors: ERR_CLOSED (reset, or closed here), ERR_IO. */
MUST_CHECK int stream_read(struct stream *s,
                           void *dst,
                           size_t len,
                           size_t *got,
                           struct err *err);
/* Read exactly @len bytes; ERR_CLOSED when the stream ends before. Parks. */
MUST_CHECK int
stream_read_full(struct stream *s, void *dst, size_t len, struct err *err);

/* Read the bytes that have arrived, without waiting: *@got 0 when there are
 * none; *@end true (and *@got 0) at the end of the stream. */
MUST_CHECK int stream_try_read(struct stream *s,
                               void *dst,
                               size_t len,
                               size_t *got,
                               bool *end,
                               struct err *err);
/* Park until stream_try_read() may have something. Wakes may be spurious. */
MUST_CHECK int stream_wait_readable(struct stream *s, struct err *err);

/* Write all parts. Parks while the peer does not take them. The array @parts
 * is read again after each wait, so its owner may meanwhile replace the data
 * of a part by an equal copy. Errors: ERR_CLOSED (the peer is gone), ERR_IO. */
MUST_CHECK int stream_write(struct stream *s,
                            const struct slice *parts,
                            size_t part_count,
                            struct err *err);

/* Write [@offset, @offset + @len) of @f, from the page cache without a copy
 * through the program's memory. The loop blocks for pages that must come
 * from the disk: see file_is_cached(). Parks. PRE: stream_can_write_files().
 * Errors: as stream_write(); ERR_IO also when the file is shorter. */
struct file;
MUST_CHECK int stream_write_file(struct stream *s,
                                 struct file *f,
                                 uint64_t offset,
                                 size_t len,
                                 struct err *err);
/* True if stream_write_file() works on @s. */
bool stream_can_write_files(const struct stream *s);

/* Pass the open file @f to the process at the other end of a Unix socket,
 * which receives it with stream_receive_file() at the same place of the
 * stream; one byte travels with it. @f stays the caller's. Parks.
 * ERR_UNSUPPORTED: not over this stream. */
MUST_CHECK int
stream_send_file(struct stream *s, struct file *f, struct err *err);
/* Receive a file that stream_send_file() sent. *@out is owned. Parks.
 * Errors: ERR_CORRUPT (no file came), ERR_CLOSED, ERR_UNSUPPORTED. */
MUST_CHECK int
stream_receive_file(struct stream *s, struct file **out, struct err *err);

/* End the writing side: after the bytes written so far, the other side reads
 * the end of the stream. Reading continues. Does not park. */
void stream_end_writing(struct stream *s);

/* The other side's address, for messages. Borrowed. */
const char *stream_peer(const struct stream *s);
/* Bytes that the system has accepted since the stream was opened; tells
 * whether the other side reads. */
uint64_t stream_written(const struct stream *s);
/* True if it stays within this machine: loopback, a Unix socket, the
 * simulation. */
bool stream_is_local(const struct stream *s);
bool stream_listener_is_local(const struct stream_listener *l);

/* Close; fibers inside calls on it get ERR_CLOSED. NULL is allowed. Does not
 * park; PRE: on the stream's loop. */
void stream_close(struct stream *s);

#endif /* BASE_RUNTIME_STREAM_H */
