/* What a reader asks over a chunk server's Unix socket. */
#ifndef GFS_LITE_SOCKET_PROTOCOL_H
#define GFS_LITE_SOCKET_PROTOCOL_H

/* Offsets in the request. */
enum {
    SOCKET_HANDLE = 0,
    SOCKET_VERSION = 8,
    SOCKET_TOKEN = 16,
    SOCKET_REQUEST_BYTES = 24,
};

#endif /* GFS_LITE_SOCKET_PROTOCOL_H */
