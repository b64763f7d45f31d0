/* A member's directory is made, locked and read.
 *
 *     LOCK              held by the process that has it open
 *     member            its owner: "QRMEMBER" version:le32 crc:le32 of the
 *                       rest, id:le64, the cell's name
 *     joining           empty: the member is to be a voter and never was one
 *     snapshot-INDEX    replica_snapshot.h
 *     log/              replica_log.h
 *
 * `member` is written last: without it, the rest is an attempt that did not
 * finish, has no entry and no vote, and is made again. A directory with entries
 * and without `member` is refused as damaged.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/replica/replica_state.h"
#include "base/runtime/world.h"

#define MEMBER_MAGIC     "QRMEMBER"
#define MEMBER_VERSION   1
#define MEMBER_HEADER    ((size_t)24)
#define MEMBER_BYTES_MAX 4096

static void path_in(const struct replica *r, const char *name, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s/%s", r->directory, name);
}

/* --- its owner ----------------------------------------------------------- */

static int write_member(struct replica *r, struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct buf from = BUF_INIT;
    struct buf to = BUF_INIT;
    struct slice part;
    struct file *f;
    int rc;
    PRE(r->id != 0);
    buf_append(&bytes, MEMBER_MAGIC, 8);
    buf_put_le32(&bytes, MEMBER_VERSION);
    buf_put_le32(&bytes, 0);
    buf_put_le64(&bytes, r->id);
    buf_append_str(&bytes, r->name);
    put_le32(bytes.data + 12, crc32c(bytes.data + 16, bytes.len - 16));
    part = buf_slice(&bytes);
    path_in(r, "member.new", &from);
    path_in(r, "member", &to);
    rc = file_open(r->world, buf_cstr(&from),
                   FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &f, err);
    if (rc == 0) {
        rc = file_write_at(f, 0, &part, 1, err);
        if (rc == 0)
            rc = file_sync(f, err);
        file_close(f);
    }
    if (rc == 0)
        rc = world_rename(r->world, buf_cstr(&from), buf_cstr(&to), err);
    if (rc == 0)
        rc = world_sync_dir(r->world, r->directory, err);
    buf_close(&bytes);
    buf_close(&from);
    buf_close(&to);
    return rc;
}

static int
check_member_bytes(const struct replica *r, struct slice bytes, struct err *err)
{
    const char *p = bytes.data;
    struct slice name;
    if (bytes.len < MEMBER_HEADER || memcmp(p, MEMBER_MAGIC, 8) != 0 ||
        get_le32(p + 12) != crc32c(p + 16, bytes.len - 16))
        return err_set(err, ERR_CORRUPT, "%s/member is damaged", r->directory);
    if (get_le32(p + 8) != MEMBER_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s/member: format %u, newest known is %d", r->directory,
                       get_le32(p + 8), MEMBER_VERSION);
    name = slice_sub(bytes, MEMBER_HEADER, bytes.len);
    if ((r->id == 0 || get_le64(p + 16) == r->id) &&
        slice_eq_str(name, r->name))
        return 0;
    return err_set(err, ERR_INVALID,
                   "%s belongs to member %" PRIu64
                   " of cell \"%.*s\", not to this one of \"%s\"",
                   r->directory, get_le64(p + 16), SLICE_ARG(name), r->name);
}

/* *@found: it is there and ours. */
static int read_member(struct replica *r, bool *found, struct err *err)
{
    char bytes[MEMBER_BYTES_MAX];
    struct buf path = BUF_INIT;
    struct file *f;
    size_t got;
    int rc;
    PRE(r->lock);
    *found = false;
    path_in(r, "member", &path);
    rc = file_open(r->world, buf_cstr(&path), FILE_READ, &f, err);
    buf_close(&path);
    if (rc == ERR_NOTFOUND)
        return 0;
    if (rc)
        return rc;
    rc = file_read_at(f, 0, bytes, sizeof(bytes), &got, err);
    file_close(f);
    if (rc == 0)
        rc = check_member_bytes(r, slice_make(bytes, got), err);
    if (rc == 0 && r->id == 0)
        r->id = get_le64(bytes + 16);
    *found = rc == 0;
    return rc;
}

/* --- the mark that it is to be a voter ----------------------------------- */

static void read_joining(struct replica *r)
{
    struct buf path = BUF_INIT;
    struct file_info info;
    path_in(r, "joining", &path);
    r->joining = world_stat(r->world, buf_cstr(&path), &info, NULL) == 0;
    buf_close(&path);
}

static int write_joining(struct replica *r, struct err *err)
{
    struct buf path = BUF_INIT;
    struct file *f;
    int rc;
    PRE(r->lock);
    path_in(r, "joining", &path);
    rc =
        file_open(r->world, buf_cstr(&path), FILE_WRITE | FILE_CREATE, &f, err);
    if (rc == 0) {
        rc = file_sync(f, err);
        file_close(f);
    }
    buf_close(&path);
    r->joining = true;
    return rc;
}

int replica__joined(struct replica *r, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    PRE(r->lock);
    path_in(r, "joining", &path);
    rc = world_remove(r->world, buf_cstr(&path), err);
    if (rc == ERR_NOTFOUND)
        rc = 0;
    if (rc == 0)
        rc = world_sync_dir(r->world, r->directory, err);
    buf_close(&path);
    r->joining = rc != 0;
    return rc;
}

/* --- making a directory -------------------------------------------------- */

static int first_config(const struct replica_options *opts,
                        struct raft_config *out,
                        struct err *err)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < opts->member_count; i++) {
        const struct replica_member *m = &opts->members[i];
        struct raft_member member = {.id = m->id, .voting = m->voting};
        if (m->id == 0 || strlen(m->address) >= RAFT_ADDRESS_BYTES ||
            raft_config_find(out, m->id))
            return err_set(err, ERR_INVALID,
                           "members: id %" PRIu64 " with address \"%s\"", m->id,
                           m->address);
        memcpy(member.address, m->address, strlen(m->address));
        if (!raft_config_put(out, &member))
            return err_set(err, ERR_INVALID, "more than %d members",
                           RAFT_MEMBERS_MAX);
    }
    POST(out->count == opts->member_count);
    return 0;
}

/* The first members begin as if entry 1 of term 1 had named them; one that
 * joins later begins with nothing. */
static int
make_member(struct replica *r, const struct raft_config *first, struct err *err)
{
    struct replica_log_options log = {.world = r->world,
                                      .keyring = r->keyring,
                                      .directory = r->log_directory};
    struct snapshot_info info = {.config = *first};
    int rc = world_make_dirs(r->world, r->log_directory, err);
    PRE(r->lock);
    PRE(r->id > 0);
    info.index = info.term = first->count ? 1 : 0;
    if (rc == 0)
        rc = replica_log_create(&log, info.index, info.term, err);
    if (rc == 0)
        rc = snapshot_write(r->world, r->keyring, r->directory, &info,
                            SLICE_EMPTY, err);
    if (rc == 0)
        rc = write_member(r, err);
    return rc;
}

/* --- reading a directory ------------------------------------------------- */

static int
read_snapshot(struct replica *r, struct snapshot_info *info, struct err *err)
{
    struct buf image = BUF_INIT;
    bool found;
    uint64_t index;
    int rc = snapshot_find(r->world, r->directory, &found, &index, err);
    PRE(r->lock);
    if (rc == 0 && !found)
        rc = err_set(err, ERR_CORRUPT, "%s: the snapshot is missing",
                     r->directory);
    if (rc == 0)
        rc = snapshot_load(r->world, r->keyring, r->directory, index, info,
                           &image, err);
    if (rc == 0)
        rc = r->machine.load(r->machine.ctx, buf_slice(&image), err);
    /* Its name may not be on the disk yet. */
    if (rc == 0)
        rc = world_sync_dir(r->world, r->directory, err);
    if (rc == 0)
        snapshot_drop_older(r->world, r->directory, index);
    buf_close(&image);
    return rc;
}

/* Bring the log's entries in line with the snapshot they follow. */
static int replica_open_align_log(struct replica *r,
                                  struct raft_log *l,
                                  const struct snapshot_info *info,
                                  struct err *err)
{
    struct replica_log_op reset = {
        .kind = REPLICA_LOG_RESET, .index = info->index, .term = info->term};
    size_t done;
    PRE(r->log);
    if (l->base_index > info->index)
        return err_set(err, ERR_CORRUPT,
                       "%s: segments or a snapshot are missing: the log begins "
                       "behind entry %" PRIu64
                       ", the snapshot ends with %" PRIu64,
                       r->log_directory, l->base_index, info->index);
    if (raft_log_last(l) >= info->index &&
        raft_log_term(l, info->index) == info->term) {
        if (info->index > l->base_index)
            raft_log_drop_prefix(l, info->index);
        return 0;
    }
    /* The power failed after the snapshot was installed and before the log was
     * reset: its entries are obsolete. */
    raft_log_reset(l, info->index, info->term);
    return replica_log_write(r->log, &reset, 1, &done, err);
}

/* The entries of @l, which is closed. */
static struct raft_entry *take_entries(struct raft_log *l, size_t *count)
{
    struct raft_entry *entries = raft_log_copy(l, l->base_index + 1, l->count);
    *count = l->count;
    raft_log_close(l);
    return entries;
}

static void begin_core(struct replica *r, const struct raft_stable *stable)
{
    struct raft_options core = r->core;
    core.id = r->id;
    core.seed = world_random(r->world);
    r->raft = raft_new(&core, stable, replica__now_us(r));
}

static void make_core(struct replica *r,
                      struct replica_log_state *state,
                      const struct snapshot_info *info)
{
    struct raft_stable stable = {.snapshot_index = info->index,
                                 .snapshot_term = info->term,
                                 .config = &info->config};
    uint64_t last =
        raft_log_term(&state->entries, raft_log_last(&state->entries));
    PRE(state->entries.base_index == info->index);
    stable.term = MAX_OF(state->term, last);
    stable.vote = stable.term == state->term ? state->vote : 0;
    stable.entries = take_entries(&state->entries, &stable.entry_count);
    begin_core(r, &stable);
    r->applied = info->index;
    POST(raft_commit(r->raft) == r->applied); /* INV-1 */
}

static int read_all(struct replica *r, struct err *err)
{
    struct replica_log_options log = {.world = r->world,
                                      .keyring = r->keyring,
                                      .directory = r->log_directory};
    struct replica_log_state state;
    struct snapshot_info info;
    int rc = read_snapshot(r, &info, err);
    PRE(!r->log);
    if (rc == 0)
        rc = replica_log_open(&log, &r->log, &state, err);
    if (rc)
        return rc;
    rc = replica_open_align_log(r, &state.entries, &info, err);
    if (rc == 0) {
        make_core(r, &state, &info);
    } else {
        raft_log_close(&state.entries);
        replica_log_close(r->log);
        r->log = NULL;
    }
    return rc;
}

/* --- recovery ------------------------------------------------------------ */

/* Ids that people give out one by one are below. */
#define OWN_IDS_FROM   UINT64_C(1000)
#define OWN_IDS_BEFORE (UINT64_C(1) << 40)

/* Open a member that is in no cell yet, with an id of its own choice. */
static int stay_outside(struct replica *r, struct err *err)
{
    static const struct raft_config nobody;
    const struct raft_stable nothing = {.config = &nobody};
    PRE(r->id == 0 && !r->raft);
    r->outside = true;
    r->id = OWN_IDS_FROM + world_random(r->world) % OWN_IDS_BEFORE;
    begin_core(r, &nothing);
    return r->machine.load(r->machine.ctx, SLICE_EMPTY, err);
}

int replica__make(struct replica *r, bool founding, struct err *err)
{
    static const struct raft_config nobody;
    struct raft *before = r->raft;
    int rc = founding ? replica__joined(r, err) : write_joining(r, err);
    if (rc == 0)
        rc = make_member(r, founding ? &r->first : &nobody, err);
    if (rc == 0)
        rc = read_all(r, err);
    if (rc)
        return rc;
    INVARIANT(r->outside && r->raft != before); /* INV-6 */
    raft_free(before);
    r->outside = false;
    return 0;
}

/* Is this the only first member? */
static bool founds_alone(const struct replica *r)
{
    PRE(r->address);
    return r->first.count == 1 &&
           strcmp(r->first.members[0].address, r->address) == 0;
}

static int make_or_wait(struct replica *r, struct err *err)
{
    int rc;
    PRE(r->id || r->address);
    if (r->id == 0 && !founds_alone(r))
        return stay_outside(r, err);
    if (r->id == 0)
        r->id = r->first.members[0].id;
    rc = make_member(r, &r->first, err);
    return rc ? rc : read_all(r, err);
}

/* The data keys of the directory, where it is encrypted, or is to be. */
static int open_keys(struct replica *r, struct err *err)
{
    struct buf path = BUF_INIT;
    bool rewrapped;
    int rc;
    PRE(!r->keyring);
    path_in(r, "KEYS", &path);
    rc = keyring_open(r->world, keyring_world_place(r->world, buf_cstr(&path)),
                      r->masters, true, &r->keyring, err);
    /* No other process has this directory: a new master key takes over now. */
    if (rc == 0 && r->keyring && r->masters)
        rc = keyring_rewrap(r->keyring, &rewrapped, err);
    if (rc)
        err_wrap(err, "%s", buf_cstr(&path));
    buf_close(&path);
    return rc;
}

int replica_take_master_key(struct replica *r, struct err *err)
{
    bool rewrapped;
    return r->keyring ? keyring_rewrap(r->keyring, &rewrapped, err) : 0;
}

static int lock_directory(struct replica *r, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc = world_make_dirs(r->world, r->directory, err);
    PRE(!r->lock);
    path_in(r, "LOCK", &path);
    if (rc == 0)
        rc = file_lock(r->world, buf_cstr(&path), &r->lock, err);
    buf_close(&path);
    return rc ? rc : open_keys(r, err);
}

int replica__reopen(struct replica *r, struct err *err)
{
    struct file_info info;
    bool found = false;
    int rc;
    PRE(!r->lock);
    if (world_stat(r->world, r->directory, &info, NULL) != 0)
        return err_set(err, ERR_NOTFOUND, "there is no %s", r->directory);
    rc = lock_directory(r, err);
    if (rc == 0)
        rc = read_member(r, &found, err);
    if (rc == 0)
        read_joining(r);
    if (rc == 0 && !found)
        rc = err_set(err, ERR_NOTFOUND, "%s is no directory of a member",
                     r->directory);
    return rc ? rc : read_all(r, err);
}

/* Does the directory, which has no file `member`, hold entries, a vote or a
 * snapshot of a member? */
static int check_no_member(struct replica *r, struct err *err)
{
    struct replica_log_options log = {.world = r->world,
                                      .keyring = r->keyring,
                                      .directory = r->log_directory};
    struct replica_log_state state;
    bool found;
    uint64_t index;
    bool had_member;
    int rc = snapshot_find(r->world, r->directory, &found, &index, err);
    PRE(r->lock);
    if (rc)
        return rc;
    had_member = found && index > 1;
    if (!had_member && replica_log_read(&log, &state, NULL) == 0) {
        had_member = state.entries.count || state.vote || state.term > 1;
        raft_log_close(&state.entries);
    }
    if (!had_member)
        return 0;
    return err_set(err, ERR_CORRUPT,
                   "%s/member is missing, and the directory is a member's",
                   r->directory);
}

void replica__hint_at_remedy(struct err *err)
{
    err_hint(err, "restore the directory from a copy, or, if the others of the "
                  "cell are a majority, move it away and start the member "
                  "again: it joins with what they have");
}

int replica__recover(struct replica *r,
                     const struct replica_options *opts,
                     struct err *err)
{
    bool found = false;
    int rc;
    PRE(!r->raft);
    if (r->core.lease_us >= r->election_us)
        return err_set(err, ERR_INVALID,
                       "a read lease of %" PRIu64 " ms is not shorter than the "
                       "election's %" PRIu64 " ms",
                       r->core.lease_us / 1000, r->election_us / 1000);
    if (r->address && strlen(r->address) >= RAFT_ADDRESS_BYTES)
        return err_set(err, ERR_INVALID, "address \"%.80s…\" is too long",
                       r->address);
    rc = first_config(opts, &r->first, err);
    if (rc)
        return rc;
    rc = lock_directory(r, err);
    if (rc == 0)
        rc = read_member(r, &found, err);
    if (rc == 0)
        read_joining(r);
    if (rc == 0 && !found)
        rc = check_no_member(r, err);
    if (rc == 0)
        rc = found ? read_all(r, err) : make_or_wait(r, err);
    if (rc == ERR_CORRUPT)
        replica__hint_at_remedy(err);
    if (rc) {
        err_wrap(err, "cell %s, member %" PRIu64, r->name, r->id);
        file_unlock(r->lock);
        r->lock = NULL;
    }
    return rc;
}
