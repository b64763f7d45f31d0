/* The request that a reader or writer sends over a chunk server's Unix socket
 * for a descriptor. chunkserver/socket.c answers it.
 */
#ifndef GFS_LITE_SOCKET_PROTOCOL_H
#define GFS_LITE_SOCKET_PROTOCOL_H

/* Offsets in the request. */
enum {
    SOCKET_HANDLE = 0,
    SOCKET_VERSION = 8,
    SOCKET_WAY = 12,
    SOCKET_TOKEN = 16,
    SOCKET_REQUEST_BYTES = 24,
};

/* At SOCKET_WAY: the use of the descriptor. */
enum {
    SOCKET_READS = 0,
    SOCKET_WRITES = 1,
};

#endif /* GFS_LITE_SOCKET_PROTOCOL_H */
