/* Any bytes as an answer of S3, as a file of settings and as printed keys: they
 * are read or refused, and no page has an entry without a key. */
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/objects/aws_file.h"
#include "base/objects/object_answer.h"
#include "base/objects/object_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = slice_make(data, size);
    struct object_page page;
    struct object_words words;
    struct object_keys keys;
    struct buf value = BUF_INIT;
    if (size > OBJECT_ANSWER_BYTES_MAX)
        return 0;
    if (object_page_parse(bytes, &page, NULL) == 0)
        for (size_t i = 0; i < page.count; i++)
            POST(page.entries[i].key && page.entries[i].key[0]);
    object_page_close(&page);
    (void)object_words_parse(bytes, &words);
    if (object_keys_parse(bytes, &keys, NULL) == 0)
        POST(keys.access && keys.secret);
    object_keys_close(&keys);
    aws_file_get(bytes, "default", "s3.addressing_style", &value);
    POST(value.len <= size);
    buf_close(&value);
    return 0;
}
