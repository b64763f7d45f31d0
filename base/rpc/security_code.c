/* Authentication codes by HMAC-SHA256, and a comparison that takes the same
 * time wherever two codes differ. Both are OpenSSL's. */
#include "base/rpc/security_code.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "base/core/panic.h"

#define SHA256_BYTES 32

void rpc_mac(const uint8_t key[RPC_MAC_KEY_BYTES],
             struct slice text,
             uint8_t out[RPC_MAC_BYTES])
{
    uint8_t whole[SHA256_BYTES];
    if (!HMAC(EVP_sha256(), key, RPC_MAC_KEY_BYTES,
              (const unsigned char *)text.data, text.len, whole, NULL))
        PANIC("HMAC-SHA256");
    memcpy(out, whole, RPC_MAC_BYTES);
}

bool rpc_mac_is(const uint8_t a[RPC_MAC_BYTES], const uint8_t b[RPC_MAC_BYTES])
{
    return CRYPTO_memcmp(a, b, RPC_MAC_BYTES) == 0;
}
