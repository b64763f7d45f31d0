/* The second address of a server on the loopback interface: a Unix socket, for
 * processes of the same machine. Its bytes cost about two thirds of TCP's.
 * Private to base/rpc.
 */
#ifndef BASE_RPC_NEARBY_H
#define BASE_RPC_NEARBY_H

#include <stdbool.h>

/* Longest, with its NUL. */
#define NEARBY_BYTES 96

/* Print the Unix address that belongs to @address; false if @address is not
 * on the loopback interface. */
bool nearby_address(const char *address, char out[NEARBY_BYTES]);

#endif /* BASE_RPC_NEARBY_H */
