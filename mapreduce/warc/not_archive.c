/* Magic numbers of files that are given as archives by mistake, so that the
 * error can name them. */
#include "mapreduce/warc/not_archive.h"

#include <stdbool.h>

#include "base/core/macros.h"

static const struct {
    const char *magic; /* Letters in lower case. */
    const char *kind;
} kinds[] = {
    {"pk\x03\x04", "a ZIP file (a WACZ is read by quarry import)"},
    {"pk\x05\x06", "an empty ZIP file"},
    {"<!doctype html", "an HTML page"},
    {"<html", "an HTML page"},
    {"<?xml", "an XML document"},
    {"%pdf-", "a PDF document"},
    {"bzh", "a bzip2 file (decompress it)"},
    {"\xfd"
     "7zxz",
     "an xz file (decompress it)"},
    {"7z\xbc\xaf", "a 7-Zip file (extract it)"},
    {"par1", "a Parquet file"},
    {"\x7f"
     "elf",
     "a program"},
};

/* Does @s start with @lower, letters in any case? */
static bool starts_with(struct slice s, struct slice lower)
{
    for (size_t i = 0; i < lower.len; i++) {
        char c = i < s.len ? s.data[i] : '\0';
        if (c >= 'A' && c <= 'Z')
            c = (char)(c | 0x20);
        if (i >= s.len || c != lower.data[i])
            return false;
    }
    return true;
}

const char *not_archive_kind(struct slice first)
{
    if (slice_starts_with(first, SLICE_LIT("\xef\xbb\xbf")))
        first = slice_sub(first, 3, first.len);
    first = slice_trim(first);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (starts_with(first, slice_str(kinds[i].magic)))
            return kinds[i].kind;
    return NULL;
}
