/* Secrets that are known, and patterns of those that are not. Known ones are
 * replaced wherever they appear. Row keys, where they are to be hidden,
 * become hashes under a secret of the bundle: equal keys stay equal, and
 * nobody can try out which key a hash is of. */
#include "cli/bundle/scrub.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/crypt/aead.h"
#include "base/crypt/secret.h"
#include "base/regex/regex.h"
#include "base/runtime/world.h"

#define LEFT_OUT         "(left out)"
#define SECRETS_MAX      256
#define SECRET_BYTES_MIN 8
#define SECRET_FILE_MAX  ((size_t)1 << 16)
/* Row keys that are looked for in texts; short ones are also words. */
#define KEYS_MAX      1000
#define KEY_BYTES_MIN 3

/* The group that may be a secret; 0: all of it. */
struct scrub_pattern {
    const char *text;
    size_t group;
};

#define OPEN   "[\"']?\\s*[:=]\\s*[\"']?"
#define VALUE  "([^\\s\"',;&}]+)"
#define SECRET "(?:password|passwd|passphrase|secret|token|api[_-]?key)"

static const struct scrub_pattern secret_patterns[] = {
    {"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?"
     "(?:-----END [A-Z ]*PRIVATE KEY-----|\\z)",
     0},
    {"(?i)\\b(?:proxy-)?authorization" OPEN "((?:[a-z]+ +)?[^\\s\"',;]+)", 1},
    {"(?i)\\bbearer\\s+([a-z0-9._~+/=-]{8,})", 1},
    {"(?i)\\b(?:set-)?cookie" OPEN "([^\\r\\n\"']+)", 1},
    {"(?i)\\b[a-z0-9_.-]*" SECRET OPEN VALUE, 1},
    {"(?i)[a-z][a-z0-9+.-]*://[^\\s/:@\"']*:([^\\s/@\"']+)@", 1},
    {"\\beyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]*", 0},
};

/* Command lines of jobs and their output, in messages: up to the end of a line.
 */
static const struct scrub_pattern output_patterns[] = {
    {"it said last: ([^\n]+)", 1},
    {"\"([^\n]*)\" (?:exited with|was ended|was killed)", 1},
};

/* Row keys in sentences. */
static const struct scrub_pattern key_pattern = {
    "\\b(?:after|start|end|row|key|from)=(\"[^\"]*\"|[^\\s\",;]+)", 1};

struct scrub {
    struct world *world;
    struct regex *patterns[ARRAY_LEN(secret_patterns)];
    struct regex *outputs[ARRAY_LEN(output_patterns)];
    struct regex *keys_in_text;
    char *secrets[SECRETS_MAX]; /* Owned. */
    size_t secret_count;
    bool hash_keys;
    struct aead_key hash_key; /* Random: hashes of two bundles differ. */
    char *keys[KEYS_MAX];     /* Owned. */
    size_t key_count;
    size_t replaced;
};

int scrub_new(struct world *w,
              bool hash_keys,
              struct scrub **out,
              struct err *err)
{
    struct scrub *s = mem_zalloc(1, sizeof(*s));
    int rc = 0;
    s->world = w;
    s->hash_keys = hash_keys;
    world_random_bytes(w, s->hash_key.bytes, sizeof(s->hash_key.bytes));
    for (size_t i = 0; i < ARRAY_LEN(secret_patterns) && rc == 0; i++)
        rc = regex_new(slice_str(secret_patterns[i].text), REGEX_BYTES,
                       &s->patterns[i], err);
    for (size_t i = 0; i < ARRAY_LEN(output_patterns) && rc == 0; i++)
        rc = regex_new(slice_str(output_patterns[i].text), REGEX_BYTES,
                       &s->outputs[i], err);
    if (rc == 0)
        rc = regex_new(slice_str(key_pattern.text), REGEX_BYTES,
                       &s->keys_in_text, err);
    *out = s;
    if (rc) {
        scrub_free(s);
        *out = NULL;
    }
    return rc;
}

void scrub_free(struct scrub *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < ARRAY_LEN(secret_patterns); i++)
        regex_free(s->patterns[i]);
    for (size_t i = 0; i < ARRAY_LEN(output_patterns); i++)
        regex_free(s->outputs[i]);
    regex_free(s->keys_in_text);
    for (size_t i = 0; i < s->secret_count; i++) {
        secret_wipe(s->secrets[i], strlen(s->secrets[i]));
        mem_free(s->secrets[i]);
    }
    for (size_t i = 0; i < s->key_count; i++)
        mem_free(s->keys[i]);
    mem_free(s);
}

size_t scrub_count(const struct scrub *s)
{
    return s->replaced;
}

/* --- secrets ------------------------------------------------------------- */

void scrub_add_secret(struct scrub *s, struct slice secret)
{
    secret = slice_trim(secret);
    if (secret.len < SECRET_BYTES_MIN || s->secret_count == SECRETS_MAX ||
        memchr(secret.data, '\0', secret.len))
        return;
    INVARIANT(s->secret_count < SECRETS_MAX);
    s->secrets[s->secret_count++] = mem_strndup(secret.data, secret.len);
}

static void add_lines(struct scrub *s, struct slice text)
{
    while (text.len) {
        size_t at = slice_find_byte(text, '\n');
        scrub_add_secret(s, slice_sub(text, 0, at));
        text = slice_sub(text, at + 1, text.len);
    }
}

void scrub_add_secret_file(struct scrub *s, const char *path)
{
    char *bytes = mem_alloc(SECRET_FILE_MAX);
    struct file *f;
    size_t got = 0;
    if (file_open(s->world, path, FILE_READ, &f, NULL) == 0) {
        if (file_read_at(f, 0, bytes, SECRET_FILE_MAX, &got, NULL) == 0)
            add_lines(s, slice_make(bytes, got));
        file_close(f);
    }
    secret_wipe(bytes, SECRET_FILE_MAX);
    mem_free(bytes);
}

/* Where @what begins in @text at or after @from; text.len: nowhere. */
static size_t find_word(struct slice text, size_t from, const char *what)
{
    size_t len = strlen(what);
    while (from + len <= text.len) {
        const char *p = memchr(text.data + from, what[0], text.len - from);
        if (!p || (size_t)(text.data + text.len - p) < len)
            break;
        if (memcmp(p, what, len) == 0)
            return (size_t)(p - text.data);
        from = (size_t)(p - text.data) + 1;
    }
    return text.len;
}

/* Replace @what by @with; returns how often. */
static size_t replace_word(struct buf *b, const char *what, const char *with)
{
    struct slice text = buf_slice(b);
    size_t at = find_word(text, 0, what);
    struct buf out = BUF_INIT;
    size_t from = 0;
    size_t count = 0;
    if (at == text.len)
        return 0;
    for (; at < text.len; at = find_word(text, from, what), count++) {
        buf_append_slice(&out, slice_sub(text, from, at));
        INVARIANT(at >= from);
        buf_append_str(&out, with);
        from = at + strlen(what);
    }
    buf_append_slice(&out, slice_sub(text, from, text.len));
    buf_close(b);
    *b = out;
    return count;
}

static void put_hash(const struct scrub *s, const char *key, struct buf *out)
{
    buf_printf(out, "key-%016" PRIx64, aead_key_name(&s->hash_key, key));
}

/* A piece that matched a pattern. */
static void put_replaced(struct scrub *s,
                         const struct scrub_pattern *p,
                         struct slice piece,
                         struct buf *out)
{
    char *key;
    if (p != &key_pattern) {
        buf_append_str(out, LEFT_OUT);
        s->replaced += !slice_eq_str(piece, LEFT_OUT);
        return;
    }
    key = mem_strndup(piece.data, piece.len);
    put_hash(s, key, out);
    mem_free(key);
}

static void replace_pattern(struct scrub *s,
                            const struct regex *r,
                            const struct scrub_pattern *p,
                            struct buf *b)
{
    struct slice text = buf_slice(b);
    struct slice groups[2];
    struct buf out = BUF_INIT;
    size_t from = 0;
    if (!regex_search(r, text, 0, NULL, 0))
        return;
    while (from < text.len &&
           regex_search(r, text, from, groups, ARRAY_LEN(groups))) {
        struct slice piece = groups[p->group];
        size_t at = (size_t)(piece.data - text.data);
        buf_append_slice(&out, slice_sub(text, from, at));
        put_replaced(s, p, piece, &out);
        INVARIANT(piece.len > 0);
        from = at + piece.len;
    }
    buf_append_slice(&out, slice_sub(text, from, text.len));
    buf_close(b);
    *b = out;
}

static void replace_outputs(struct scrub *s, struct buf *b)
{
    for (size_t i = 0; i < ARRAY_LEN(output_patterns); i++)
        replace_pattern(s, s->outputs[i], &output_patterns[i], b);
}

void scrub_text(struct scrub *s,
                struct slice text,
                enum scrub_form form,
                struct buf *out)
{
    struct buf b = BUF_INIT;
    buf_append_slice(&b, text);
    for (size_t i = 0; i < s->secret_count; i++)
        s->replaced += replace_word(&b, s->secrets[i], LEFT_OUT);
    for (size_t i = 0; i < ARRAY_LEN(secret_patterns); i++)
        replace_pattern(s, s->patterns[i], &secret_patterns[i], &b);
    if (form == SCRUB_LINES)
        replace_outputs(s, &b);
    if (s->hash_keys)
        replace_pattern(s, s->keys_in_text, &key_pattern, &b);
    for (size_t i = 0; i < s->key_count; i++) {
        struct buf hash = BUF_INIT;
        put_hash(s, s->keys[i], &hash);
        (void)replace_word(&b, s->keys[i], buf_cstr(&hash));
        buf_close(&hash);
    }
    buf_append_slice(out, buf_slice(&b));
    buf_close(&b);
}

/* --- documents ----------------------------------------------------------- */

static bool is_key_field(const char *name)
{
    static const char *const names[] = {"start",     "end",     "smallest",
                                        "largest",   "row",     "keys",
                                        "first_row", "last_row"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void remember_key(struct scrub *s, const char *key)
{
    if (strlen(key) < KEY_BYTES_MIN || s->key_count == KEYS_MAX)
        return;
    for (size_t i = 0; i < s->key_count; i++)
        if (strcmp(s->keys[i], key) == 0)
            return;
    INVARIANT(s->key_count < KEYS_MAX);
    s->keys[s->key_count++] = mem_strdup(key);
}

/* The empty key stands for "no bound", and stays. */
static void hash_key(struct scrub *s, json_t *text)
{
    struct buf hash = BUF_INIT;
    const char *key = json_string_value(text);
    if (*key == '\0')
        return;
    remember_key(s, key);
    put_hash(s, key, &hash);
    if (json_string_set(text, buf_cstr(&hash)))
        PANIC("no memory for a hash");
    buf_close(&hash);
}

static void scrub_message(struct scrub *s, json_t *text)
{
    struct buf b = BUF_INIT;
    buf_append_str(&b, json_string_value(text));
    replace_outputs(s, &b);
    if (json_string_setn(text, b.data ? b.data : "", b.len))
        PANIC("no memory for a message");
    buf_close(&b);
}

/* Documents are a few levels deep (DEPTH_MAX): nobody else makes them. */
#define DEPTH_MAX 16

static void
scrub_value(struct scrub *s, const char *field, json_t *v, unsigned depth)
{
    const char *name;
    json_t *item;
    size_t i;
    PRE(depth < DEPTH_MAX);
    if (json_is_string(v) && s->hash_keys && is_key_field(field))
        hash_key(s, v);
    else if (json_is_string(v))
        scrub_message(s, v);
    json_array_foreach(v, i, item)
        scrub_value(s, field, item, depth + 1);
    json_object_foreach(v, name, item)
        scrub_value(s, name, item, depth + 1);
}

void scrub_document(struct scrub *s, json_t *doc)
{
    scrub_value(s, "", doc, 0);
}
