/* First bytes that do not begin a text: marks of other formats, UTF-16, and too
 * many control characters. A wrong file is named as such before it becomes a
 * million bad rows. */
#include "mapreduce/ingest/text_check.h"

#include <stdbool.h>
#include <stddef.h>

/* In a text, at most one byte in this many is a control character. */
#define CONTROL_SHARE 10

/* The mark at the beginning of files of a kind. */
struct mark {
    struct slice bytes;
    const char *what;
    const char *hint;
};

#define UTF16_HINT "iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"

static const struct mark marks[] = {
    {{"BZh", 3}, "compressed by bzip2", "bunzip2 decompresses it"},
    {{"\xfd"
      "7zXZ\0",
      6},
     "compressed by xz",
     "unxz decompresses it"},
    {{"\x04\x22\x4d\x18", 4}, "compressed by lz4", "unlz4 decompresses it"},
    {{"LZIP", 4}, "compressed by lzip", "lzip -d decompresses it"},
    {{"PK\x03\x04", 4}, "a ZIP archive", "unzip extracts it"},
    {{"7z\xbc\xaf\x27\x1c", 6}, "a 7z archive", "7z x extracts it"},
    {{"Rar!\x1a\x07", 6}, "a RAR archive", "unrar extracts it"},
    {{"PAR1", 4}, "a Parquet file", "write it as CSV first"},
    {{"ORC", 3}, "an ORC file", "write it as CSV first"},
    {{"Obj\x01", 4}, "an Avro file", "write it as JSON lines first"},
    {{"SQLite format 3\0", 16}, "an SQLite database", "dump a table as CSV"},
    {{"%PDF-", 5}, "a PDF file", "take text"},
    {{"\x7f"
      "ELF",
      4},
     "a program",
     "take text"},
    {{"\xff\xfe\0\0", 4}, "UTF-32", "iconv makes UTF-8 of it"},
    {{"\0\0\xfe\xff", 4}, "UTF-32", "iconv makes UTF-8 of it"},
    {{"\xff\xfe", 2}, "UTF-16", UTF16_HINT},
    {{"\xfe\xff", 2}, "UTF-16", UTF16_HINT},
};

static bool is_compressed(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT("\x1f\x8b")) ||
           slice_starts_with(head, SLICE_LIT("\x28\xb5\x2f\xfd"));
}

static bool is_control(char c)
{
    unsigned char b = (unsigned char)c;
    return (b < 0x20 && !(b >= '\t' && b <= '\r') && b != 0x1b) || b == 0x7f;
}

/* Most bytes at even places are 0, or most at odd ones, and no others: Latin
 * text in UTF-16 without its mark. */
static bool is_utf16(struct slice head)
{
    size_t zeros[2] = {0, 0};
    for (size_t i = 0; i < head.len; i++)
        zeros[i % 2] += head.data[i] == '\0';
    return head.len >= 4 && (zeros[0] == 0) != (zeros[1] == 0) &&
           (zeros[0] + zeros[1]) * 3 > head.len;
}

int text_check(struct slice head, struct err *err)
{
    const char *what = NULL;
    const char *hint = "take text";
    size_t controls = 0;
    if (is_compressed(head))
        return 0;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !what; i++) {
        if (slice_starts_with(head, marks[i].bytes)) {
            what = marks[i].what;
            hint = marks[i].hint;
        }
    }
    for (size_t i = 0; i < head.len; i++)
        controls += is_control(head.data[i]);
    if (!what && is_utf16(head)) {
        what = "UTF-16";
        hint = UTF16_HINT;
    } else if (!what && controls * CONTROL_SHARE > head.len) {
        what = "a binary file";
    }
    if (!what)
        return 0;
    err_set(err, ERR_INVALID, "no text, but %s", what);
    err_hint(err, "%s", hint);
    return ERR_INVALID;
}
