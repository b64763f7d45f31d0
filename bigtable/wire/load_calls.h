/* Bulk loads: the ticket that writers work by, the list of files that they
 * return, and the calls that give files to a tablet and lend it a key.
 *
 * As in control_calls.h: bodies are MessagePack arrays, get borrows and fails
 * with ERR_CORRUPT.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_LOAD_CALLS_H
#define BIGTABLE_WIRE_LOAD_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/crypt/keyring.h" /* struct key_loan */
#include "base/rpc/call_tables.h"
#include "bigtable/wire/field_kinds.h"

struct arena;

#define LOADS_DIR           "load" /* Below the root: LOADS_DIR/ID/FILE. */
#define LOAD_NAME_BYTES_MAX 128
/* A load that was not written to for this time is removed. */
#define LOAD_STALE_US  (UINT64_C(7) * 24 * 3600 * 1000000)
#define LOAD_FILES_MAX 65536
#define LOAD_CUTS_MAX  ((size_t)1 << 20)
/* "PART+GROUP+NUMBER.sst" */
#define LOAD_FILE_NAME_BYTES_MAX (LOAD_NAME_BYTES_MAX + 32)
#define LOAD_PATH_BYTES                                                        \
    (sizeof(LOADS_DIR) + LOAD_NAME_BYTES_MAX + LOAD_FILE_NAME_BYTES_MAX + 4)

#define TABLET_LOAD_METHODS(METHOD)                                            \
    /* struct load_request with the list of files that have rows of the        \
     * tablet attached; struct load_reply. */                                  \
    METHOD(TABLET_LOAD_FILES, 0x519, "tablet.load_files", handle_load_files,   \
           READY)                                                              \
    /* struct load_request; struct lend_reply: the key to encrypt the          \
     * load's files with. Needs the right to write the table. */               \
    METHOD(TABLET_LEND, 0x51b, "tablet.lend", handle_lend, READY)

enum tablet_load_method {
    TABLET_LOAD_METHODS(METHOD_NUMBER)
};

/* The load's directory, and the path of its file @name (empty: the directory).
 * PRE: both are as long as they may be. */
void load_path(struct slice id, struct slice name, char out[LOAD_PATH_BYTES]);
/* The number by which tablets know the load @id. Never 0. */
uint64_t load_number(struct slice id);
/* Check the name of a load or of its part; the message calls it @what.
 * ERR_INVALID. */
MUST_CHECK int
load_check_name(const char *what, struct slice name, struct err *err);

struct load_ticket {
    struct slice target; /* Of the file system. */
    struct slice id;
    struct slice table;
    uint64_t table_id;
    struct slice schema; /* schema_encode() */
    size_t cut_count;
    struct slice *cuts; /* Rows at which files are cut: in the arena. */
    bool is_encrypted;  /* Files that are not are refused. */
};

/* The ticket; its cuts are in @a. */
void load_ticket_put(const struct load_ticket *t, struct buf *out);
MUST_CHECK int load_ticket_get(struct slice in,
                               struct arena *a,
                               struct load_ticket *t,
                               struct err *err);

/* A file of a load. */
struct load_file {
    struct slice name; /* Below the load's directory. */
    uint32_t group;
    uint64_t bytes;
    uint64_t entries;
    struct slice first_key; /* Encoded, both inclusive. */
    struct slice last_key;
};

/* Lists are such values one after the other. */
void load_file_put(const struct load_file *f, struct buf *out);

struct load_list {
    struct load_file *files; /* In the arena. */
    size_t count;
};

/* Names are checked. ERR_TOOBIG. */
MUST_CHECK int load_list_get(struct slice in,
                             struct arena *a,
                             struct load_list *l,
                             struct err *err);

struct load_request {
    uint64_t tablet;
    struct slice id; /* Of the load. */
};

struct load_reply {
    bool before; /* The tablet had the load already. */
};

static const struct message_field load_request_fields[] = {
    FIELD(load_request, tablet, field_u64),
    FIELD(load_request, id, field_load_id),
};

static const struct message_field load_reply_fields[] = {
    FIELD(load_reply, before, field_flag),
};

#define LOAD_MESSAGES(MESSAGE)                                                 \
    MESSAGE(load_request, "request to load files")                             \
    MESSAGE(load_reply, "outcome of loading files")

struct lend_reply {
    struct key_loan loan; /* All zeros: the cluster is not encrypted. */
};

/* The loan, with its key. */
void lend_reply_put(const struct lend_reply *r, struct buf *out);
/* Copies the key. ERR_CORRUPT. */
MUST_CHECK int
lend_reply_get(struct slice in, struct lend_reply *r, struct err *err);

/* The name of the key that is lent for the load @id of @principal into the
 * table @table. */
void load_loan_name(uint64_t table,
                    struct slice principal,
                    struct slice id,
                    unsigned char lent[KEYRING_SALT_BYTES]);

LOAD_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* BIGTABLE_WIRE_LOAD_CALLS_H */
