/* Fields are taken one by one, with their types checked; the first line of an
 * exception's message is kept, without the server's stack.
 */
#include "base/objects/webhdfs_answer.h"

#include <jansson.h>
#include <string.h>

#include "base/core/panic.h"

#define MS_MAX (UINT64_MAX / 1000)

static json_t *load_json(struct slice json, struct err *err)
{
    json_error_t why;
    json_t *root = json_loadb(json.data ? json.data : "", json.len, 0, &why);
    if (!root)
        err_set(err, ERR_CORRUPT, "the answer is no JSON: %s", why.text);
    return root;
}

/* A number that is not negative; false: it is none. */
static bool take_number(const json_t *object, const char *name, uint64_t *out)
{
    const json_t *value = json_object_get(object, name);
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 0)
        return false;
    *out = (uint64_t)n;
    return true;
}

static int
take_status(const json_t *object, struct webhdfs_status *out, struct err *err)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    const char *name = json_string_value(json_object_get(object, "pathSuffix"));
    uint64_t ms = 0;
    *out = (struct webhdfs_status){.name = NULL};
    if (!type || !name || !take_number(object, "length", &out->size_bytes) ||
        !take_number(object, "modificationTime", &ms) || ms > MS_MAX)
        return err_set(err, ERR_CORRUPT,
                       "the status of a file has not the fields of one");
    /* HttpFS of Hadoop before 3 does not tell it. */
    (void)take_number(object, "fileId", &out->id);
    (void)take_number(object, "replication", &out->replication);
    out->is_directory = strcmp(type, "DIRECTORY") == 0;
    out->modified_us = ms * 1000;
    out->name = mem_strdup(name);
    return 0;
}

int webhdfs_status_parse(struct slice json,
                         struct webhdfs_status *out,
                         struct err *err)
{
    json_t *root = load_json(json, err);
    int rc = root ? take_status(json_object_get(root, "FileStatus"), out, err)
                  : ERR_CORRUPT;
    json_decref(root);
    return rc;
}

void webhdfs_status_close(struct webhdfs_status *s)
{
    mem_free(s->name);
    s->name = NULL;
}

/* A name of a directory's entry is no path, which could lead elsewhere. */
static bool is_entry_name(const char *name)
{
    return !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

int webhdfs_page_parse(struct slice json,
                       struct webhdfs_page *out,
                       struct err *err)
{
    json_t *root = load_json(json, err);
    const json_t *listing = json_object_get(root, "DirectoryListing");
    const json_t *list = json_object_get(
        json_object_get(json_object_get(listing, "partialListing"),
                        "FileStatuses"),
        "FileStatus");
    uint64_t left = 0;
    int rc = root ? 0 : ERR_CORRUPT;
    *out = (struct webhdfs_page){.count = 0};
    if (rc == 0 && (!json_is_array(list) ||
                    !take_number(listing, "remainingEntries", &left)))
        rc = err_set(err, ERR_CORRUPT, "the answer is no list of a directory");
    if (rc == 0) {
        size_t count = json_array_size(list);
        out->entries =
            mem_zalloc(MAX_OF(count, (size_t)1), sizeof(*out->entries));
        while (out->count < count && rc == 0) {
            rc = take_status(json_array_get(list, out->count),
                             &out->entries[out->count], err);
            out->count += rc == 0;
            if (rc == 0 && !is_entry_name(out->entries[out->count - 1].name))
                rc = err_set(err, ERR_CORRUPT,
                             "a directory's list has a path for a name");
        }
        out->more = left > 0;
    }
    json_decref(root);
    return rc;
}

void webhdfs_page_close(struct webhdfs_page *p)
{
    for (size_t i = 0; i < p->count; i++)
        webhdfs_status_close(&p->entries[i]);
    mem_free(p->entries);
    *p = (struct webhdfs_page){.count = 0};
}

int webhdfs_boolean_parse(struct slice json, bool *out, struct err *err)
{
    json_t *root = load_json(json, err);
    const json_t *value = json_object_get(root, "boolean");
    int rc = root ? 0 : ERR_CORRUPT;
    *out = json_is_true(value);
    if (rc == 0 && !json_is_boolean(value))
        rc = err_set(err, ERR_CORRUPT, "the answer is neither true nor false");
    json_decref(root);
    return rc;
}

static void copy_line(const json_t *value, char *to, size_t room)
{
    const char *text = json_string_value(value);
    size_t len = text ? MIN_OF(strcspn(text, "\r\n"), room - 1) : 0;
    if (len > 0)
        memcpy(to, text, len);
    to[len] = '\0';
}

void webhdfs_exception_parse(struct slice json, struct webhdfs_exception *out)
{
    json_t *root = load_json(json, NULL);
    const json_t *e = json_object_get(root, "RemoteException");
    *out = (struct webhdfs_exception){.name = ""};
    copy_line(json_object_get(e, "exception"), out->name, sizeof(out->name));
    copy_line(json_object_get(e, "message"), out->message,
              sizeof(out->message));
    json_decref(root);
}
