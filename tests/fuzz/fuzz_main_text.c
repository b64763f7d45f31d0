/* Any bytes as a page, its language and its host: text of it comes out, in
 * bounds. */
#include <stddef.h>
#include <stdint.h>

#include "base/core/panic.h"
#include "mapreduce/warc/language_guess.h"
#include "mapreduce/warc/main_text.h"
#include "mapreduce/warc/min_hash.h"
#include "mapreduce/warc/public_suffix.h"
#include "mapreduce/warc/text_blocks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct main_text *texts;
    static struct public_suffixes *suffixes;
    struct slice input = slice_make(data, size);
    char code[LANGUAGE_CODE_BYTES];
    struct min_hash hash;
    if (!texts) {
        texts = main_text_new();
        suffixes = public_suffixes_new();
    }
    struct slice text = main_text_of(texts, input);
    PRE(text.len <= TEXT_BLOCKS_BYTES_MAX);
    (void)language_guess(text, slice_sub(input, 0, 20), code);
    min_hash_text(text, 1 + size % MIN_HASH_WIDTH_MAX, &hash);
    (void)language_guess(input, SLICE_EMPTY, code);
    PRE(public_suffixes_domain(suffixes, input).len <= size);
    return 0;
}
