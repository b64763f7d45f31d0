/* quarry token new: tokens for the public API and for the console. The token is
 * printed once; the file for servers has only its hash.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/api_auth.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/console/token_file.h"

#define FILE_DEFAULT         "tokens"
#define CONSOLE_FILE_DEFAULT "console-tokens"

static const struct option token_options[] = {
    {"file", 0, "FILE", "where its hash is added, made if missing (tokens)"},
    {"console", 0, "RIGHT",
     "for the console: view, or operate; the file is\nconsole-tokens then"},
    {NULL, 0, NULL, NULL},
};

static void put_hex(struct buf *out, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%02x", bytes[i]);
}

/* One write: lines of others that are added meanwhile stay whole. */
static int add_line(const char *path, struct slice line, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ssize_t done;
    int rc = 0;
    if (fd < 0)
        return err_set_errno(err, errno, "%s", path);
    done = write(fd, line.data, line.len);
    if (done != (ssize_t)line.len || fsync(fd))
        rc = err_set_errno(err, done < 0 ? errno : EIO, "write to %s", path);
    if (close(fd) && rc == 0)
        rc = err_set_errno(err, errno, "close %s", path);
    return rc;
}

static int run_new(struct cli *cli, const struct args *args, struct err *err)
{
    const char *principal = args->words[0];
    const char *path = args_value(args, "file");
    const char *right = args_value(args, "console");
    enum console_right parsed;
    unsigned char secret[API_TOKEN_BYTES];
    unsigned char hash[API_TOKEN_HASH_BYTES];
    struct buf token = BUF_INIT;
    struct buf line = BUF_INIT;
    int rc;
    if (!api_principal_is_valid(slice_str(principal)))
        return usage_error(args, err,
                           "\"%s\": a name without spaces and commas, up to "
                           "%d bytes",
                           principal, API_PRINCIPAL_BYTES - 1);
    if (right && !console_right_parse(slice_str(right), &parsed))
        return usage_error(args, err, "--console \"%s\": view or operate",
                           right);
    if (!path)
        path = right ? CONSOLE_FILE_DEFAULT : FILE_DEFAULT;
    world_random_bytes(cli->world, secret, sizeof(secret));
    put_hex(&token, secret, sizeof(secret));
    api_token_hash(buf_slice(&token), hash);
    buf_printf(&line, "%s ", principal);
    if (right)
        buf_printf(&line, "%s sha256:", right);
    put_hex(&line, hash, sizeof(hash));
    buf_append_byte(&line, '\n');
    rc = add_line(path, buf_slice(&line), err);
    if (rc == 0)
        printf("%s\n", buf_cstr(&token));
    buf_close(&token);
    buf_close(&line);
    return rc;
}

const struct command token_commands[] = {
    {.name = "token new",
     .arguments = "PRINCIPAL",
     .summary = "Make a token for the public API or the console",
     .details =
         "The token is printed, once; its SHA-256 is added to the file, which\n"
         "`quarry server --api-tokens FILE` reads. To take a token back,\n"
         "remove its line. Callers send `authorization: Bearer TOKEN`, and\n"
         "have the rights that the lists give to PRINCIPAL (quarry acl).\n"
         "With --console it is for the console's pages: PRINCIPAL is then the\n"
         "name in the audit log, and the server's setting console-tokens the\n"
         "file.",
     .examples = "quarry token new --file /etc/quarry/tokens crawler\n"
                 "quarry token new --console operate alice",
     .words_min = 1,
     .words_max = 1,
     .options = {token_options},
     .run = run_new},
    {.name = NULL},
};
