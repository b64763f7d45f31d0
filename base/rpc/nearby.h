/* The second address of a server on the loopback interface: a Unix socket, for
 * processes of the same machine. Bytes go that way at about two thirds of the
 * cost. Private to base/rpc.
 */
#ifndef BASE_RPC_NEARBY_H
#define BASE_RPC_NEARBY_H

#include <stdbool.h>

/* Longest, with its NUL. */
#define NEARBY_BYTES 96

/* Print the address beside @address; false if that is not on the loopback
 * interface. */
bool nearby_address(const char *address, char out[NEARBY_BYTES]);

#endif /* BASE_RPC_NEARBY_H */
