/* The file of tokens: a line each, with a hash of the secret, its right and
 * its end. A file that others may read is refused, because it could be
 * copied. */
#include "cli/console/token_file.h"

#include "base/core/buf.h"
#include "base/core/hex.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"

#define FILE_BYTES_MAX ((size_t)256 << 10)

static const struct slice HASH_PREFIX = {"sha256:", 7};

bool console_bytes_equal(const void *a, const void *b, size_t len)
{
    const volatile unsigned char *x = a;
    const volatile unsigned char *y = b;
    unsigned char differs = 0;
    for (size_t i = 0; i < len; i++)
        differs = (unsigned char)(differs | (x[i] ^ y[i]));
    return differs == 0;
}

bool console_right_parse(struct slice word, enum console_right *out)
{
    if (slice_eq_str(word, "view"))
        *out = CONSOLE_VIEW;
    else if (slice_eq_str(word, "operate"))
        *out = CONSOLE_OPERATE;
    else
        return false;
    return true;
}

/* Cut the next word off @rest; empty at the end. */
static struct slice cut_word(struct slice *rest)
{
    struct slice word;
    size_t len = 0;
    *rest = slice_trim(*rest);
    while (len < rest->len && rest->data[len] != ' ' && rest->data[len] != '\t')
        len++;
    word = slice_sub(*rest, 0, len);
    *rest = slice_sub(*rest, len, rest->len);
    return word;
}

static bool parse_secret(struct slice word, struct console_token *out)
{
    if (slice_starts_with(word, HASH_PREFIX)) {
        word = slice_sub(word, HASH_PREFIX.len, word.len);
        return word.len == 2 * sizeof(out->hash) &&
               hex_decode(word.data, sizeof(out->hash), out->hash);
    }
    api_token_hash(word, out->hash);
    return word.len >= CONSOLE_TOKEN_BYTES_MIN;
}

static bool parse_line(struct slice line, struct console_token *out)
{
    struct slice name = cut_word(&line);
    struct slice right = cut_word(&line);
    struct slice secret = cut_word(&line);
    if (!api_principal_is_valid(name) || slice_trim(line).len ||
        !console_right_parse(right, &out->right))
        return false;
    memcpy(out->name, name.data, name.len);
    out->name[name.len] = '\0';
    return parse_secret(secret, out);
}

int console_tokens_parse(struct slice text,
                         const char *path,
                         struct console_tokens *out,
                         struct err *err)
{
    int rc = 0;
    *out = (struct console_tokens){
        .at = mem_zalloc(CONSOLE_TOKENS_MAX, sizeof(*out->at))};
    for (unsigned number = 1; text.len && rc == 0; number++) {
        size_t at = slice_find_byte(text, '\n');
        struct slice line = slice_trim(slice_sub(text, 0, at));
        text = slice_sub(text, at + 1, text.len);
        if (line.len == 0 || line.data[0] == '#')
            continue;
        if (out->count == CONSOLE_TOKENS_MAX)
            rc = err_set(err, ERR_TOOBIG, "%s: more than %d tokens", path,
                         CONSOLE_TOKENS_MAX);
        else if (!parse_line(line, &out->at[out->count]))
            rc = err_set(err, ERR_INVALID,
                         "%s:%u: not \"NAME view|operate TOKEN\", the token of "
                         "%d bytes or more, or sha256: and 64 hexadecimal "
                         "digits",
                         path, number, CONSOLE_TOKEN_BYTES_MIN);
        else
            out->count++;
    }
    if (rc)
        console_tokens_close(out);
    return rc;
}

void console_tokens_close(struct console_tokens *t)
{
    mem_free(t->at);
    *t = (struct console_tokens){.at = NULL};
}

static int check_file(struct world *w, const char *path, struct err *err)
{
    struct file_info info;
    int rc = world_check_secret(w, path, err);
    if (rc == 0)
        rc = world_stat(w, path, &info, err);
    if (rc == 0 && info.size_bytes > FILE_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "%s: over %zu bytes", path,
                     FILE_BYTES_MAX);
    return rc;
}

int console_tokens_read(struct world *w,
                        const char *path,
                        struct console_tokens *out,
                        struct err *err)
{
    struct buf text = BUF_INIT;
    struct file *f = NULL;
    int rc = check_file(w, path, err);
    *out = (struct console_tokens){.at = NULL};
    if (rc == 0)
        rc = file_open(w, path, FILE_READ, &f, err);
    if (rc == 0)
        rc = file_read_at(f, 0, buf_reserve(&text, FILE_BYTES_MAX),
                          FILE_BYTES_MAX, &text.len, err);
    if (rc == 0)
        rc = console_tokens_parse(buf_slice(&text), path, out, err);
    file_close(f);
    buf_close(&text);
    return rc;
}

const struct console_token *console_tokens_find(const struct console_tokens *t,
                                                struct slice token)
{
    const struct console_token *found = NULL;
    unsigned char hash[API_TOKEN_HASH_BYTES];
    api_token_hash(token, hash);
    for (size_t i = 0; i < t->count; i++)
        if (console_bytes_equal(hash, t->at[i].hash, sizeof(hash)))
            found = &t->at[i];
    return found;
}
