/* The document `config`: the settings of each node, and where each comes from.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "cli/monitor/subject.h"

#define CONFIG_BYTES_MAX  ((size_t)1 << 20)
#define NODE_SETTINGS_MAX 1000

/* The text field @name of a setting that a node sent. */
static void copy_text(json_t *to, const json_t *from, const char *name)
{
    const json_t *v = json_object_get(from, name);
    if (json_is_string(v))
        doc_put_text(to, name,
                     slice_make(json_string_value(v), json_string_length(v)));
}

/* False: the text is none of settings. */
static bool put_settings(json_t *node, struct slice text)
{
    json_t *list = text.len <= CONFIG_BYTES_MAX
                       ? json_loadb(text.data, text.len, 0, NULL)
                       : NULL;
    json_t *rows;
    bool good = json_is_array(list);
    size_t count = good ? json_array_size(list) : 0;
    if (good)
        rows = doc_put_array(node, "settings");
    for (size_t i = 0; i < MIN_OF(count, (size_t)NODE_SETTINGS_MAX); i++) {
        const json_t *from = json_array_get(list, i);
        json_t *row = doc_append_object(rows);
        copy_text(row, from, "name");
        copy_text(row, from, "value");
        copy_text(row, from, "origin");
        copy_text(row, from, "where");
    }
    json_decref(list);
    return good;
}

static struct slice reply_text(struct slice body)
{
    struct codec_reader r = codec_reader_make(body);
    uint32_t count = codec_get_array(&r);
    struct slice text = codec_get_bytes(&r);
    return count < 1 || r.bad ? SLICE_EMPTY : text;
}

static void put_node(json_t *doc, json_t *nodes, const struct node_call *c)
{
    json_t *row;
    if (c->rc) {
        doc_warn(doc, "the settings of node %s are not known: %s",
                 c->node->name, c->err.text);
        return;
    }
    row = doc_append_object(nodes);
    doc_put_str(row, "name", c->node->name);
    doc_put_str(row, "address", c->node->address);
    if (!put_settings(row, reply_text(buf_slice(&c->reply))))
        doc_warn(doc, "the settings of node %s cannot be read", c->node->name);
}

int subject_config(struct monitor *m,
                   const struct monitor_param *params,
                   size_t count,
                   json_t *doc,
                   struct err *err)
{
    const char *wanted = monitor_param_value(params, count, "node");
    struct monitor_nodes *n;
    struct node_calls calls;
    json_t *nodes;
    int rc = monitor_nodes_get(m, &n, err);
    if (rc)
        return rc;
    monitor_nodes_warn(n, doc);
    nodes = doc_put_array(doc, "nodes");
    node_calls_make(m, n, SERVER_CONFIG, SLICE_EMPTY, SLICE_EMPTY, &calls);
    for (size_t i = 0; i < calls.count; i++)
        if (!wanted || strcmp(wanted, calls.at[i].node->name) == 0 ||
            strcmp(wanted, calls.at[i].node->address) == 0)
            put_node(doc, nodes, &calls.at[i]);
    node_calls_close(&calls);
    if (wanted && json_array_size(nodes) == 0 &&
        !monitor_nodes_find(n, slice_str(wanted)))
        rc = err_set(err, ERR_NOTFOUND, "there is no node %.100s", wanted);
    monitor_nodes_unref(n);
    return rc;
}
