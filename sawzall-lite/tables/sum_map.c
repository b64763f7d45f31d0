/* Sums of maps; see sum_map.h. The payload of a key's item is a blob with the
 * total of its values as a datum. */
#include "sawzall-lite/tables/sum_map.h"

#include "base/core/panic.h"

static bool add_entry(struct saw_table *t,
                      struct saw_items *s,
                      struct slice key,
                      struct slice value)
{
    uint64_t hash = saw_items_hash(key);
    struct saw_item *i = saw_items_find(s, key, hash);
    struct buf *sum;
    if (!i) {
        i = saw_items_add(t, s, key, hash);
        i->v.blob = saw_table__resize(t, NULL, 0, sizeof(struct saw_blob));
        *i->v.blob = (struct saw_blob){0};
        saw_blob_set(t, i->v.blob, value);
        return true;
    }
    sum = saw_table__scratch(t);
    if (!saw_datum_add(saw_blob_slice(i->v.blob), value, sum))
        return false;
    saw_blob_set(t, i->v.blob, buf_slice(sum));
    return true;
}

bool saw_sum_map_add(struct saw_table *t, struct saw_items *s, struct slice map)
{
    struct cursor c = cursor_make(slice_sub(map, 1, map.len - 1));
    while (c.p < c.end) {
        struct slice key = saw_datum_skip(&c);
        struct slice value = saw_datum_skip(&c);
        INVARIANT(!c.bad);
        if (!add_entry(t, s, key, value))
            return false;
    }
    return true;
}

void saw_sum_map_total(const struct saw_items *s, struct buf *out)
{
    struct saw_item **v = saw_items_list(s, saw_item_by_datum);
    saw_datum_put_open(out, SAW_DATUM_MAP);
    for (size_t i = 0; i < s->count; i++) {
        buf_append_slice(out, saw_item_slice(v[i]));
        buf_append_slice(out, saw_blob_slice(v[i]->v.blob));
    }
    saw_datum_put_end(out);
    mem_free(v);
}

void saw_sum_map_close(struct saw_table *t, struct saw_items *s)
{
    for (size_t i = 0; i < s->slot_count; i++) {
        struct saw_item *item = s->slots[i];
        if (!item)
            continue;
        saw_blob_close(t, item->v.blob);
        saw_table__resize(t, item->v.blob, sizeof(struct saw_blob), 0);
    }
    saw_items_close(t, s);
}
