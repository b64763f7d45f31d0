/* First bytes that do not begin a text: marks of other formats, UTF-16, line
 * ends of an old kind, and too many control characters. A wrong file is named
 * as such before it becomes a million bad rows. */
#include "mapreduce/ingest/text_check.h"

#include <stdbool.h>
#include <stddef.h>

#include "mapreduce/warc/decompress.h"

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

/* The compression, or NULL. *@readable: this build can undo it. */
static const char *packing_of(struct slice head, bool *readable)
{
    *readable = true;
    if (slice_starts_with(head, SLICE_LIT("\x1f\x8b")))
        return "gzip";
    if (slice_starts_with(head, SLICE_LIT("\x28\xb5\x2f\xfd")))
        return "zstd";
    if (slice_starts_with(head, SLICE_LIT("\x04\x22\x4d\x18")))
        return "lz4";
    *readable = QUARRY_HAVE_BZIP2;
    if (decompress__is_bzip2(head.data, head.len))
        return "bzip2";
    *readable = QUARRY_HAVE_LZMA;
    return decompress__is_xz(head.data, head.len) ? "xz" : NULL;
}

static int check_packing(const char *packing, bool readable, struct err *err)
{
    if (readable)
        return 0;
    err_set(err, ERR_UNSUPPORTED,
            "compressed by %s, which this build does not "
            "read",
            packing);
    err_hint(err, "decompress it first, or install the Debian packages that "
                  "scripts/deps build names and build again");
    return ERR_UNSUPPORTED;
}

/* Lines of the old Mac: carriage returns alone. */
static bool is_cr_alone(struct slice head)
{
    size_t returns = 0;
    for (size_t i = 0; i < head.len; i++)
        returns += head.data[i] == '\r';
    return returns > 1 && slice_find_byte(head, '\n') == head.len;
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

int text_check_packed(struct slice head, struct err *err)
{
    bool readable;
    const char *packing = packing_of(head, &readable);
    return packing ? check_packing(packing, readable, err)
                   : text_check(head, err);
}

int text_check(struct slice head, struct err *err)
{
    const char *what = NULL;
    const char *hint = "take text";
    bool readable;
    const char *packing = packing_of(head, &readable);
    size_t controls = 0;
    if (packing) {
        err_set(err, ERR_INVALID, "no text, but compressed twice, by %s inside",
                packing);
        err_hint(err, "decompress it once");
        return ERR_INVALID;
    }
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
    } else if (!what && is_cr_alone(head)) {
        what = "lines that end in carriage returns alone";
        hint = "tr '\\r' '\\n' makes line feeds of them";
    }
    if (!what)
        return 0;
    err_set(err, ERR_INVALID, "no text, but %s", what);
    err_hint(err, "%s", hint);
    return ERR_INVALID;
}
