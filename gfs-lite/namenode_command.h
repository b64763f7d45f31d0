/* Changes of the namenode's state, as clients send them and the replicated log
 * stores them, and the answers to them.
 *
 *     command = array of the fields of struct gfs_command, in their order
 *     result  = array of the fields of struct gfs_result, in their order
 *
 * One record serves every operation; a field that an operation does not use is
 * 0 or empty and costs a byte. Times and random choices are inside the command:
 * applying one is a function of the state and the command alone.
 *
 * A client numbers its commands within its session. A command that is sent
 * again, because its outcome is unknown, carries the same number and gets the
 * answer of its first execution (RIFL).
 */
#ifndef GFS_LITE_NAMENODE_COMMAND_H
#define GFS_LITE_NAMENODE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "gfs-lite/proof.h"

struct buf;

/* Most copies of a chunk. */
#define GFS_REPLICAS_MAX 8
/* Bytes of a chunk: 64 MiB. A file's chunks may be shorter. */
#define GFS_CHUNK_BYTES ((uint32_t)64 << 20)
/* Longest part of a path, its '/' not counted. */
#define GFS_NAME_BYTES_MAX 255
/* Longest path; fs.h has the same bound. */
#define GFS_PATH_BYTES_MAX 1024
/* Deepest path. */
#define GFS_DEPTH_MAX 64
/* Longest name of a machine, address or rack. */
#define GFS_TEXT_BYTES_MAX 255
/* Longest list of the roles of a principal, with commas. */
#define GFS_ROLES_BYTES_MAX 4096

/* Values are part of the log's format: never renumber. */
enum gfs_op {
    /* From clients. */
    GFS_OP_SESSION_OPEN = 1, /* text: the client's name, for messages. */
    GFS_OP_SESSION_CLOSE = 2,
    GFS_OP_MKDIRS = 3,          /* path */
    GFS_OP_CREATE = 4,          /* path, replication, flags EXCLUSIVE, SHARED */
    GFS_OP_APPEND_OPEN = 5,     /* path, flags SHARED */
    GFS_OP_RENAME = 6,          /* path, to */
    GFS_OP_REMOVE = 7,          /* path, flags TREE, TRASH */
    GFS_OP_SET_REPLICATION = 8, /* path, replication; length: of the first step,
                                   from the leader */
    GFS_OP_SNAPSHOT = 9,        /* path, to; length: of the first step, from the
                                   leader */
    GFS_OP_SET_QUOTA = 10, /* path, length: entries, bytes: bytes; 0: none */
    GFS_OP_LOCK = 11,      /* path */
    GFS_OP_UNLOCK = 12,    /* file */
    GFS_OP_ALLOCATE = 13, /* file, epoch, chunk and length of the one before it;
                             servers: chosen by the leader; flags AHEAD */
    GFS_OP_CLOSE = 14,    /* file, epoch, chunk and length of the last one */
    GFS_OP_SETTLE = 15, /* file, epoch, chunk and length of the last one, which
                           is on the disks of its servers: it is sealed */
    GFS_OP_SET_MODE = 16,  /* path, mode */
    GFS_OP_SET_OWNER = 17, /* path, text: the owner; "": the servers */
    GFS_OP_GRANT = 18,     /* path, text: a principal, role:NAME or *, length:
                              enum gfs_grant, flags REVOKE */
    /* From the leader alone. */
    GFS_OP_FENCE = 32,           /* file, chunk */
    GFS_OP_SEAL = 33,            /* file, chunk, version, length, flags CLOSE */
    GFS_OP_SESSION_EXPIRE = 34,  /* session */
    GFS_OP_TRASH_EXPIRE = 35,    /* length: a step of those removed before it */
    GFS_OP_SERVER_REGISTER = 36, /* chunk: its own number; text: its address;
                                    path: machine; to: rack */
    GFS_OP_SERVER_STATE = 37,    /* chunk: its number; flags: enum
                                    gfs_server_state */
    GFS_OP_REAP = 38,            /* A step of freeing removed trees. */
    GFS_OP_COPY = 39, /* A step of a snapshot; length: at most that many inodes
                         and chunks, 0: all. */
    GFS_OP_REPLICATE = 40, /* A step of setting it: path, replication, length;
                              to: the path to continue after. */
};

enum gfs_flags {
    GFS_EXCLUSIVE = 1, /* ERR_EXISTS instead of replacing. */
    GFS_SHARED = 2,    /* Many writers, by record append. */
    GFS_TREE = 4,      /* With all below it. */
    GFS_TRASH = 8,     /* Into the trash. */
    GFS_CLOSE = 16,    /* The file is closed with it. */
    GFS_AHEAD = 32,    /* The chunk before it has its length, and is sealed
                          later. */
    GFS_CHECKED = 64,  /* From the leader: `caller` is held to owners, modes and
                          grants. */
    GFS_REVOKE = 128,  /* Take a grant away. */
};

/* Rights of a file or directory: of its owner, and of all others. There are no
 * groups: roles have grants instead. Values are part of formats. */
enum gfs_mode {
    GFS_OTHERS_EXECUTE = 1, /* Pass through a directory. */
    GFS_OTHERS_WRITE = 2,
    GFS_OTHERS_READ = 4,
    GFS_OWNER_EXECUTE = 8,
    GFS_OWNER_WRITE = 16,
    GFS_OWNER_READ = 32,
    GFS_STICKY = 64, /* Of a directory: entries are removed and renamed by their
                        owners alone, and by its own. */
};

#define GFS_MODE_MAX 127
/* The mode of files made without a mask: all principals may use them. */
#define GFS_MODE_FILE      (32 | 16 | 4 | 2)
#define GFS_MODE_DIRECTORY 63
/* Of the root: all make entries, and each removes his own. */
#define GFS_MODE_ROOT (GFS_MODE_DIRECTORY | GFS_STICKY)

/* Rights that a grant gives, to a path and all below it. */
enum gfs_grant {
    GFS_GRANT_READ = 1,
    GFS_GRANT_WRITE = 2,
};

/* The state that the operator wants of a chunk server. */
enum gfs_server_state {
    GFS_SERVER_IN_SERVICE,
    GFS_SERVER_LEAVING, /* Its chunks are to be elsewhere first. */
    GFS_SERVER_GONE,    /* Not expected back; forgotten. */
};

/* Numbers of chunk servers, as the namenode gave them. */
struct gfs_server_set {
    uint16_t numbers[GFS_REPLICAS_MAX];
    uint8_t count;
};

struct gfs_command {
    enum gfs_op op;
    uint64_t session;  /* 0: the leader itself, or a session to be opened. */
    uint64_t sequence; /* Of the command in its session, from 1. */
    uint64_t answered; /* The client has all answers up to here. */
    uint64_t time_us;  /* Wall clock of the leader. */
    struct slice path;
    struct slice to;
    struct slice text;
    uint64_t file;
    uint64_t epoch;
    uint64_t chunk;
    uint64_t version;
    uint64_t length;
    uint64_t bytes;
    uint32_t replication;
    uint32_t flags;
    struct gfs_server_set servers;
    /* Set by the leader, whatever a client sends: */
    struct slice caller; /* The principal, who owns files that it makes; "": the
                            servers. */
    struct slice roles;  /* His, with commas. */
    uint32_t mode; /* SET_MODE: the new one, from the client. Else bits that new
                      files and directories do not get. */
};

struct gfs_result {
    int code;          /* 0 or ERR_*. */
    struct slice text; /* Of an error; SET_REPLICATION, REPLICATE: the path to
                          continue after, or empty. */
    struct slice hint;
    uint64_t session;
    uint64_t file;  /* SNAPSHOT: not 0 while it is being made. */
    uint64_t epoch; /* Of the writer: a later one has a greater epoch. */
    uint64_t chunk;
    uint64_t version;
    uint64_t length; /* APPEND_OPEN: the file's; SEAL: the chunk's. */
    struct gfs_server_set servers;
    struct gfs_proof proof; /* ALLOCATE: of the right to the chunk. */
};

/* May a client send it? */
bool gfs_op_is_for_clients(enum gfs_op op);
/* "create" and so on; "?" for an unknown one. */
const char *gfs_op_name(enum gfs_op op);

/* Append @c to @out. */
void gfs_command_put(const struct gfs_command *c, struct buf *out);
/* Decode @in. Slices borrow from @in. ERR_CORRUPT: not a command, or a field
 * beyond its bounds. */
MUST_CHECK int
gfs_command_get(struct slice in, struct gfs_command *c, struct err *err);

/* Append @r to @out. */
void gfs_result_put(const struct gfs_result *r, struct buf *out);
/* Decode @in. Slices borrow from @in. ERR_CORRUPT. */
MUST_CHECK int
gfs_result_get(struct slice in, struct gfs_result *r, struct err *err);

#endif /* GFS_LITE_NAMENODE_COMMAND_H */
