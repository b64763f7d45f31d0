/* Verifying JWTs with libjwt. Only signatures made with a private key count,
 * and only tokens that expire. Without libjwt every JWT is refused.
 */
#include "bigtable/gateway/api_jwt.h"

#include <limits.h>
#include <string.h>

#include "base/core/panic.h"

#ifdef QUARRY_HAVE_LIBJWT
#include <jwt.h>

/* Clocks of the issuer and of this machine may differ by so much. */
#define LEEWAY_S 60
/* Longest token. */
#define TOKEN_BYTES_MAX ((size_t)16 << 10)

/* Signatures made with a private key. Never HMAC: its key would be the public
 * one, which everybody has; never "none". */
static bool is_asymmetric(jwt_alg_t alg)
{
    static const jwt_alg_t good[] = {
        JWT_ALG_RS256, JWT_ALG_RS384, JWT_ALG_RS512,
        JWT_ALG_ES256, JWT_ALG_ES384, JWT_ALG_ES512,
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (alg == good[i])
            return true;
    return false;
}

int api_jwt_check_key(struct slice key, struct err *err)
{
    static const char begin[] = "-----BEGIN PUBLIC KEY-----";
    struct slice text = slice_trim(key);
    if (text.len < INT_MAX && slice_starts_with(text, slice_str(begin)))
        return 0;
    return err_set(err, ERR_INVALID, "not a public key in PEM (%s)", begin);
}

static bool is_expected(jwt_t *jwt, const char *claim, const char *expected)
{
    const char *found = jwt_get_grant(jwt, claim);
    return !expected || (found && strcmp(found, expected) == 0);
}

static const char *why_not(jwt_t *jwt, const struct api_jwt_rules *rules)
{
    int64_t now = (int64_t)rules->now_s;
    int64_t expires = jwt_get_grant_int(jwt, "exp");
    int64_t begins = jwt_get_grant_int(jwt, "nbf");
    if (!is_asymmetric(jwt_get_alg(jwt)))
        return "not signed with a private key";
    if (expires == 0)
        return "it does not expire";
    if (expires < now - LEEWAY_S)
        return "it has expired";
    if (begins > now + LEEWAY_S)
        return "it is not valid yet";
    if (!is_expected(jwt, "iss", rules->issuer))
        return "from another issuer";
    if (!is_expected(jwt, "aud", rules->audience))
        return "for another audience";
    return NULL;
}

static int
take_subject(jwt_t *jwt, char principal[API_PRINCIPAL_BYTES], struct err *err)
{
    const char *subject = jwt_get_grant(jwt, "sub");
    if (!subject || !api_principal_is_valid(slice_str(subject)))
        return err_set(err, ERR_DENIED, "the token: no subject that is a name");
    memcpy(principal, subject, strlen(subject) + 1);
    return 0;
}

int api_jwt_check(const struct api_jwt_rules *rules,
                  struct slice token,
                  char principal[API_PRINCIPAL_BYTES],
                  struct err *err)
{
    jwt_t *jwt = NULL;
    const char *why;
    char *text;
    int rc;
    if (token.len > TOKEN_BYTES_MAX)
        return err_set(err, ERR_DENIED, "the token: too long");
    text = mem_strndup(token.data, token.len);
    rc = jwt_decode(&jwt, text, (const unsigned char *)rules->key.data,
                    (int)rules->key.len);
    mem_free(text);
    if (rc)
        return err_set(err, ERR_DENIED,
                       "the token: not one that is known, or badly signed");
    why = why_not(jwt, rules);
    rc = why ? err_set(err, ERR_DENIED, "the token: %s", why)
             : take_subject(jwt, principal, err);
    jwt_free(jwt);
    return rc;
}

#else

int api_jwt_check_key(struct slice key, struct err *err)
{
    (void)key;
    err_set(err, ERR_UNSUPPORTED, "this build does not know JWTs");
    err_hint(err, "install libjwt-dev and build again");
    return ERR_UNSUPPORTED;
}

int api_jwt_check(const struct api_jwt_rules *rules,
                  struct slice token,
                  char principal[API_PRINCIPAL_BYTES],
                  struct err *err)
{
    (void)rules;
    (void)token;
    (void)principal;
    return err_set(err, ERR_DENIED, "this build does not know JWTs");
}

#endif
