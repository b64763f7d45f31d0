/* What a reader or writer asks over a chunk server's Unix socket. */
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

/* At SOCKET_WAY: what the descriptor is for. */
enum {
    SOCKET_READS = 0,
    SOCKET_WRITES = 1,
};

#endif /* GFS_LITE_SOCKET_PROTOCOL_H */
