/* Reads the settings of a cluster's nodes, n1/server.conf and so on, as the
 * command line does.
 */
#include "bigtable/sql/sql_target.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/core/conf.h"
#include "base/core/slice.h"

#define TARGET_NODES_MAX 1000

static int read_settings(const char *path, struct buf *out, struct err *err)
{
    FILE *in = fopen(path, "re");
    char part[4096];
    size_t n;
    if (!in)
        return err_set_errno(err, errno, "%s", path);
    while (out->len <= CONF_BYTES_MAX &&
           (n = fread(part, 1, sizeof(part), in)) > 0)
        buf_append(out, part, n);
    fclose(in);
    return 0;
}

/* Append the address of the node whose settings are at @path. */
static int add_address(const char *path, struct buf *out, struct err *err)
{
    struct buf text = BUF_INIT;
    struct conf *conf = NULL;
    const char *address = NULL;
    int rc = read_settings(path, &text, err);
    if (rc == 0)
        rc = conf_parse(buf_slice(&text), path, &conf, err);
    if (rc == 0)
        address = conf_get(conf, "server", "address");
    if (rc == 0 && !address)
        address = conf_get(conf, "server", "listen");
    if (rc == 0 && !address)
        rc = err_set(err, ERR_INVALID, "%s: no key listen", path);
    if (rc == 0) {
        buf_append_str(out, out->len ? "," : "");
        buf_append_str(out, address);
    }
    conf_free(conf);
    buf_close(&text);
    return rc;
}

int sql_target_resolve(const char *target,
                       struct buf *name,
                       struct buf *key_file,
                       struct err *err)
{
    const struct slice scheme = SLICE_LIT("cluster:");
    struct buf path = BUF_INIT;
    int rc = 0, nodes = 0;
    if (!slice_starts_with(slice_str(target), scheme)) {
        buf_append_str(name, target);
        return 0;
    }
    target += scheme.len;
    while (rc == 0 && nodes < TARGET_NODES_MAX) {
        buf_clear(&path);
        buf_printf(&path, "%s/n%d/server.conf", target, nodes + 1);
        if (access(buf_cstr(&path), F_OK) != 0)
            break;
        rc = add_address(buf_cstr(&path), name, err);
        nodes++;
    }
    if (nodes == 0)
        buf_append_str(name, target); /* Addresses. */
    else
        buf_printf(key_file, "%s/key", target);
    buf_close(&path);
    return rc;
}
