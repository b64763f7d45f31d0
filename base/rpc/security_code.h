/* Authentication codes of messages: HMAC-SHA256 under a secret of a service,
 * truncated to half.
 *
 * Threads: any.
 */
#ifndef BASE_RPC_SECURITY_CODE_H
#define BASE_RPC_SECURITY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

#define RPC_MAC_KEY_BYTES 32
#define RPC_MAC_BYTES     16

/* The code of @text. */
void rpc_mac(const uint8_t key[RPC_MAC_KEY_BYTES],
             struct slice text,
             uint8_t out[RPC_MAC_BYTES]);
/* True if they are equal; in constant time. */
bool rpc_mac_is(const uint8_t a[RPC_MAC_BYTES], const uint8_t b[RPC_MAC_BYTES]);

#endif /* BASE_RPC_SECURITY_CODE_H */
