/* Paths and names, escaped byte by byte: ZooKeeper refuses some characters that
 * a node may have in its name.
 */
#include "chubby-lite/mapped/mapped_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "chubby-lite/lock_path.h"

static const char digits[] = "0123456789ABCDEF";

static bool is_plain(unsigned char c)
{
    return c > 0x20 && c < 0x7f && c != '%';
}

static void put_name(struct slice name, struct buf *out)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (is_plain(c))
            buf_append_byte(out, (char)c);
        else
            buf_printf(out, "%%%c%c", digits[c >> 4], digits[c & 15]);
    }
}

/* Where the directory at @path keeps what is in it. */
static void put_children(const char *root, struct slice path, struct buf *out)
{
    struct slice rest = slice_sub(path, 1, path.len);
    struct slice name;

    buf_append_str(out, root);
    while (path_next(&rest, &name)) {
        buf_append_byte(out, '/');
        put_name(name, out);
        buf_append_str(out, "%d");
    }
}

static char *with_ending(const char *stem, const char *ending)
{
    struct buf b = BUF_INIT;

    buf_printf(&b, "%s%s", stem, ending);
    return buf_take(&b);
}

/* The directory @above has its record in the directory above it. */
static char *record_of_directory(const char *root, struct slice above)
{
    struct slice top;
    struct slice name;
    struct buf b = BUF_INIT;

    if (above.len == 1)
        return with_ending(root, "/%r");
    path_split(above, &top, &name);
    put_children(root, top, &b);
    buf_append_byte(&b, '/');
    put_name(name, &b);
    return buf_take(&b);
}

static void init_root(struct mapped_path *p, const char *root)
{
    *p = (struct mapped_path){.record = with_ending(root, "/%r"),
                              .lock = with_ending(root, "/%k"),
                              .children = mem_strdup(root)};
}

void mapped_path_init(struct mapped_path *p,
                      const char *root,
                      struct slice path,
                      uint64_t session)
{
    struct slice above;
    struct slice name;
    struct buf b = BUF_INIT;
    char ending[24];

    if (path.len == 1) {
        init_root(p, root);
        return;
    }
    path_split(path, &above, &name);
    p->above_record = record_of_directory(root, above);
    put_children(root, above, &b);
    p->above_children = mem_strdup(buf_cstr(&b));
    buf_append_byte(&b, '/');
    put_name(name, &b);
    p->record = buf_take(&b);
    p->ephemeral = with_ending(p->record, "%e");
    p->lock = with_ending(p->record, "%k");
    p->children = with_ending(p->record, "%d");
    snprintf(ending, sizeof(ending), "%%o%016" PRIx64, session);
    p->marker = with_ending(p->record, ending);
}

void mapped_path_close(struct mapped_path *p)
{
    mem_free(p->record);
    mem_free(p->ephemeral);
    mem_free(p->lock);
    mem_free(p->children);
    mem_free(p->marker);
    mem_free(p->above_record);
    mem_free(p->above_children);
}

static bool take_byte(struct slice name, size_t at, char *out)
{
    const char *high;
    const char *low;

    if (at + 2 >= name.len || !name.data[at + 1] || !name.data[at + 2])
        return false;
    high = strchr(digits, name.data[at + 1]);
    low = strchr(digits, name.data[at + 2]);
    if (!high || !low)
        return false;
    *out = (char)((high - digits) << 4 | (low - digits));
    return true;
}

enum mapped_name_kind
mapped_name_read(struct slice name, struct buf *out, struct slice *rest)
{
    static const char kinds[] = "ekdo";

    *rest = SLICE_EMPTY;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        if (c != '%') {
            buf_append_byte(out, c);
        } else if (take_byte(name, i, &c)) {
            buf_append_byte(out, c);
            i += 2;
        } else {
            c = i + 1 < name.len ? name.data[i + 1] : '\0';
            *rest = slice_sub(name, i + 2, name.len);
            return i > 0 && c && strchr(kinds, c) ? (enum mapped_name_kind)c
                                                  : MAPPED_NAME_OTHER;
        }
    }
    return name.len > 0 ? MAPPED_NAME_RECORD : MAPPED_NAME_OTHER;
}
