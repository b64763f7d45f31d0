/* Messages of bulk loads. Names of loads and files come from clients and become
 * paths, so that their letters are checked: none leads out of the load's
 * directory. */
#include "bigtable/wire/load_calls.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/message.h"

#define TICKET_FIELDS 6 /* Of older tickets; one more now. */
#define FILE_FIELDS   6
#define LEND_FIELDS   3
#define TARGET_BYTES  4096
#define SCHEMA_BYTES  ((size_t)256 << 10)
/* A row and a qualifier, every byte escaped, and change. */
#define KEY_BYTES_MAX (2 * (ROW_NAME_BYTES_MAX + QUALIFIER_BYTES_MAX) + 64)

uint64_t load_number(struct slice id)
{
    uint64_t h = hash64_slice(id);
    return h ? h : 1;
}

void load_path(struct slice id, struct slice name, char out[LOAD_PATH_BYTES])
{
    char *p = out;
    PRE(id.len <= LOAD_NAME_BYTES_MAX && name.len <= LOAD_FILE_NAME_BYTES_MAX);
    memcpy(p, LOADS_DIR "/", sizeof(LOADS_DIR));
    p += sizeof(LOADS_DIR);
    memcpy(p, id.data, id.len);
    p += id.len;
    if (name.len) {
        *p++ = '/';
        memcpy(p, name.data, name.len);
        p += name.len;
    }
    *p = '\0';
}

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

static bool is_name(struct slice name)
{
    bool good =
        name.len > 0 && name.len <= LOAD_NAME_BYTES_MAX && name.data[0] != '.';
    for (size_t i = 0; i < name.len && good; i++)
        good = is_of_name(name.data[i]);
    return good;
}

int load_check_name(const char *what, struct slice name, struct err *err)
{
    if (is_name(name))
        return 0;
    return err_set(err, ERR_INVALID,
                   "%s \"%.*s\" is not 1 to %d letters, digits, '_', '-' and "
                   "'.', without a '.' first",
                   what, SLICE_ARG(name), LOAD_NAME_BYTES_MAX);
}

/* --- tickets ------------------------------------------------------------- */

void load_ticket_put(const struct load_ticket *t, struct buf *out)
{
    codec_put_array(out, TICKET_FIELDS + 1);
    codec_put_str(out, t->target);
    codec_put_str(out, t->id);
    codec_put_str(out, t->table);
    codec_put_u64(out, t->table_id);
    codec_put_bin(out, t->schema);
    codec_put_array(out, (uint32_t)t->cut_count);
    for (size_t i = 0; i < t->cut_count; i++)
        codec_put_bin(out, t->cuts[i]);
    codec_put_bool(out, t->is_encrypted);
}

int load_ticket_get(struct slice in,
                    struct arena *a,
                    struct load_ticket *t,
                    struct err *err)
{
    struct message_reader m = message_begin(in, TICKET_FIELDS);
    t->target = message_bytes(&m.r, TARGET_BYTES);
    t->id = message_bytes(&m.r, LOAD_NAME_BYTES_MAX);
    t->table = message_bytes(&m.r, TABLE_NAME_BYTES_MAX);
    t->table_id = codec_get_u64(&m.r);
    t->schema = message_bytes(&m.r, SCHEMA_BYTES);
    t->cut_count = message_count(&m.r, MIN_OF(in.len, LOAD_CUTS_MAX));
    t->cuts =
        (struct slice *)arena_alloc(a, (t->cut_count + 1) * sizeof(*t->cuts));
    for (size_t i = 0; i < t->cut_count && !m.r.bad; i++) {
        t->cuts[i] = message_row(&m.r);
        m.r.bad |= i > 0 && slice_cmp(t->cuts[i - 1], t->cuts[i]) >= 0;
    }
    m.r.bad |= !is_name(t->id);
    t->is_encrypted = false;
    if (m.count > TICKET_FIELDS) {
        m.known++;
        t->is_encrypted = codec_get_bool(&m.r);
    }
    return message_end(&m, "ticket of a load", err);
}

/* --- files --------------------------------------------------------------- */

void load_file_put(const struct load_file *f, struct buf *out)
{
    codec_put_array(out, FILE_FIELDS);
    codec_put_str(out, f->name);
    codec_put_u64(out, f->group);
    codec_put_u64(out, f->bytes);
    codec_put_u64(out, f->entries);
    codec_put_bin(out, f->first_key);
    codec_put_bin(out, f->last_key);
}

/* Is it a name that our writers give, which leads to no other directory? */
static bool is_file_name(struct slice name)
{
    bool good = name.len > 0 && name.len <= LOAD_FILE_NAME_BYTES_MAX &&
                name.data[0] != '.';
    for (size_t i = 0; i < name.len && good; i++)
        good = is_of_name(name.data[i]) || name.data[i] == '+';
    return good;
}

static void get_file(struct codec_reader *r, struct load_file *f)
{
    message_part(r, FILE_FIELDS);
    f->name = message_bytes(r, LOAD_FILE_NAME_BYTES_MAX);
    f->group = message_u32(r);
    f->bytes = codec_get_u64(r);
    f->entries = codec_get_u64(r);
    f->first_key = message_bytes(r, KEY_BYTES_MAX);
    f->last_key = message_bytes(r, KEY_BYTES_MAX);
    r->bad |= !is_file_name(f->name) || f->entries == 0 ||
              cell_key_row_length(f->first_key) == 0 ||
              cell_key_row_length(f->last_key) == 0 ||
              slice_cmp(f->first_key, f->last_key) > 0;
}

int load_list_get(struct slice in,
                  struct arena *a,
                  struct load_list *l,
                  struct err *err)
{
    struct codec_reader r = codec_reader_make(in);
    size_t max = MIN_OF(in.len / FILE_FIELDS, LOAD_FILES_MAX);
    l->count = 0;
    l->files =
        (struct load_file *)arena_alloc(a, (max + 1) * sizeof(*l->files));
    while (!r.bad && !codec_done(&r) && l->count < max)
        get_file(&r, &l->files[l->count++]);
    if (codec_done(&r))
        return 0;
    if (!r.bad && l->count == LOAD_FILES_MAX)
        return err_set(err, ERR_TOOBIG, "a load of more than %d files",
                       LOAD_FILES_MAX);
    return err_set(err, ERR_CORRUPT, "malformed list of a load's files");
}

/* --- the call ------------------------------------------------------------ */

/* --- keys ---------------------------------------------------------------- */

void lend_reply_put(const struct lend_reply *r, struct buf *out)
{
    const struct key_loan *l = &r->loan;
    codec_put_array(out, LEND_FIELDS);
    codec_put_u64(out, l->key_id);
    codec_put_bin(out, slice_make(l->lent, sizeof(l->lent)));
    codec_put_bin(out, slice_make(l->key.bytes, sizeof(l->key.bytes)));
}

static void get_exactly(struct codec_reader *r, unsigned char *to, size_t bytes)
{
    struct slice s = message_bytes(r, bytes);
    if (s.len == bytes)
        memcpy(to, s.data, bytes);
    else
        r->bad = true;
}

int lend_reply_get(struct slice in, struct lend_reply *r, struct err *err)
{
    struct message_reader m = message_begin(in, LEND_FIELDS);
    struct key_loan *l = &r->loan;
    l->key_id = codec_get_u64(&m.r);
    get_exactly(&m.r, l->lent, sizeof(l->lent));
    get_exactly(&m.r, l->key.bytes, sizeof(l->key.bytes));
    return message_end(&m, "key for a load", err);
}

/* No two loads have the same text: each part has its length. */
void load_loan_name(uint64_t table,
                    struct slice principal,
                    struct slice id,
                    unsigned char lent[KEYRING_SALT_BYTES])
{
    struct buf text = BUF_INIT;
    buf_append_str(&text, "load");
    buf_put_le64(&text, table);
    buf_put_lslice(&text, principal);
    buf_put_lslice(&text, id);
    key_loan_name(buf_slice(&text), lent);
    buf_close(&text);
}
