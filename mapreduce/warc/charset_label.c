/* The labels of the Encoding Standard, and the <meta> in which pages declare
 * them. The table has the labels that crawls contain; an unknown one means that
 * the bytes decide. */
#include "mapreduce/warc/charset_label.h"

#include <string.h>

#include "base/core/macros.h"
#include "mapreduce/warc/archived_http.h"

/* Browsers search no further for a <meta>. */
#define PRESCAN_BYTES ((size_t)4096)

const struct charset_encoding charset_utf8 = {"utf-8", "UTF-8"};
const struct charset_encoding charset_utf16le = {"utf-16le", "UTF-16LE"};
const struct charset_encoding charset_utf16be = {"utf-16be", "UTF-16BE"};
const struct charset_encoding charset_windows_1252 = {"windows-1252", "CP1252"};

/* Labels between blanks. */
static const struct {
    struct charset_encoding encoding;
    const char *labels;
} table[] = {
    {{"ibm866", "CP866"}, " 866 cp866 csibm866 ibm866 "},
    {{"iso-8859-2", "ISO-8859-2"},
     " csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 "
     "iso_8859-2:1987 l2 latin2 "},
    {{"iso-8859-3", "ISO-8859-3"},
     " csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 "
     "iso_8859-3:1988 l3 latin3 "},
    {{"iso-8859-4", "ISO-8859-4"},
     " csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 "
     "iso_8859-4:1988 l4 latin4 "},
    {{"iso-8859-5", "ISO-8859-5"},
     " csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 "
     "iso_8859-5 iso_8859-5:1988 "},
    {{"iso-8859-6", "ISO-8859-6"},
     " arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 "
     "iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 "
     "iso_8859-6 iso_8859-6:1987 "},
    {{"iso-8859-7", "ISO-8859-7"},
     " csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 "
     "iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek "},
    {{"iso-8859-8", "ISO-8859-8"},
     " csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 "
     "iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 visual csiso88598i "
     "iso-8859-8-i logical "},
    {{"iso-8859-10", "ISO-8859-10"},
     " csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6 "},
    {{"iso-8859-13", "ISO-8859-13"}, " iso-8859-13 iso8859-13 iso885913 "},
    {{"iso-8859-14", "ISO-8859-14"}, " iso-8859-14 iso8859-14 iso885914 "},
    {{"iso-8859-15", "ISO-8859-15"},
     " csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9 "},
    {{"iso-8859-16", "ISO-8859-16"}, " iso-8859-16 "},
    {{"koi8-r", "KOI8-R"}, " cskoi8r koi koi8 koi8-r koi8_r "},
    {{"koi8-u", "KOI8-U"}, " koi8-ru koi8-u "},
    {{"macintosh", "MACINTOSH"}, " csmacintosh mac macintosh x-mac-roman "},
    {{"windows-874", "CP874"},
     " dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874 "},
    {{"windows-1250", "CP1250"}, " cp1250 windows-1250 x-cp1250 "},
    {{"windows-1251", "CP1251"}, " cp1251 windows-1251 x-cp1251 "},
    {{"windows-1253", "CP1253"}, " cp1253 windows-1253 x-cp1253 "},
    {{"windows-1254", "CP1254"},
     " cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 "
     "iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254 "},
    {{"windows-1255", "CP1255"}, " cp1255 windows-1255 x-cp1255 "},
    {{"windows-1256", "CP1256"}, " cp1256 windows-1256 x-cp1256 "},
    {{"windows-1257", "CP1257"}, " cp1257 windows-1257 x-cp1257 "},
    {{"windows-1258", "CP1258"}, " cp1258 windows-1258 x-cp1258 "},
    {{"x-mac-cyrillic", "MAC-CYRILLIC"},
     " x-mac-cyrillic x-mac-ukrainian mac-cyrillic "},
    {{"gbk", "GB18030"},
     " chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk "
     "iso-ir-58 x-gbk "},
    {{"gb18030", "GB18030"}, " gb18030 "},
    {{"big5", "BIG5-HKSCS"}, " big5 big5-hkscs cn-big5 csbig5 x-x-big5 "},
    {{"euc-jp", "EUC-JP-MS"}, " cseucpkdfmtjapanese euc-jp x-euc-jp "},
    {{"iso-2022-jp", "ISO-2022-JP-3"}, " csiso2022jp iso-2022-jp "},
    {{"shift_jis", "CP932"},
     " csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis "},
    {{"euc-kr", "CP949"},
     " cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 "
     "ks_c_5601-1989 ksc5601 ksc_5601 windows-949 uhc "},
};

static const char utf8_labels[] =
    " unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 "
    "x-unicode20utf8 ";
static const char utf16le_labels[] =
    " csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le ";
static const char utf16be_labels[] = " unicodefffe utf-16be ";
static const char western_labels[] =
    " ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 "
    "iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 "
    "us-ascii windows-1252 x-cp1252 x-user-defined ";

const struct charset_encoding *charset_of_label(struct slice label)
{
    char word[48];
    label = slice_trim(label);
    if (label.len == 0 || label.len + 3 > sizeof(word))
        return NULL;
    word[0] = ' ';
    for (size_t i = 0; i < label.len; i++) {
        char c = label.data[i];
        if (c <= ' ')
            return NULL;
        word[i + 1] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    word[label.len + 1] = ' ';
    word[label.len + 2] = '\0';
    if (strstr(utf8_labels, word))
        return &charset_utf8;
    if (strstr(western_labels, word))
        return &charset_windows_1252;
    if (strstr(utf16le_labels, word))
        return &charset_utf16le;
    if (strstr(utf16be_labels, word))
        return &charset_utf16be;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strstr(table[i].labels, word))
            return &table[i].encoding;
    return NULL;
}

/* --- <meta> -------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

/* Does @s begin with @lower, in any case? */
static bool starts_with(struct slice s, const char *lower)
{
    return http_slice_is(slice_sub(s, 0, strlen(lower)), lower);
}

/* The value after "charset" in @tag, quoted or not: of the attribute, or in a
 * content-type. */
static struct slice charset_in(struct slice tag)
{
    for (size_t i = 0; i + 8 < tag.len; i++) {
        struct slice rest = slice_sub(tag, i, tag.len);
        size_t n;
        if (!starts_with(rest, "charset"))
            continue;
        rest = slice_trim(slice_sub(rest, 7, rest.len));
        if (rest.len == 0 || rest.data[0] != '=')
            continue;
        rest = slice_trim(slice_sub(rest, 1, rest.len));
        if (rest.len && (rest.data[0] == '"' || rest.data[0] == '\''))
            rest = slice_sub(rest, 1, rest.len);
        for (n = 0; n < rest.len; n++)
            if (is_blank(rest.data[n]) || strchr("\"';/>", rest.data[n]))
                break;
        return slice_sub(rest, 0, n);
    }
    return SLICE_EMPTY;
}

struct slice charset_prescan(struct slice html)
{
    struct slice all = slice_sub(html, 0, PRESCAN_BYTES);
    size_t i = 0;
    while (i < all.len) {
        struct slice rest = slice_sub(all, i, all.len);
        size_t end;
        if (slice_starts_with(rest, SLICE_LIT("<!--"))) {
            for (i += 4; i < all.len; i++)
                if (slice_starts_with(slice_sub(all, i, all.len),
                                      SLICE_LIT("-->")))
                    break;
            continue;
        }
        if (!starts_with(rest, "<meta") || rest.len < 6 ||
            !(is_blank(rest.data[5]) || rest.data[5] == '/')) {
            i++;
            continue;
        }
        end = slice_find_byte(rest, '>');
        rest = charset_in(slice_sub(rest, 5, end));
        if (charset_of_label(rest))
            return rest;
        i += end;
    }
    /* XML declares it in its first line. */
    if (slice_starts_with(all, SLICE_LIT("<?xml"))) {
        size_t end = slice_find_byte(all, '>');
        for (i = 0; i + 10 < end; i++) {
            struct slice rest = slice_sub(all, i, end);
            size_t n;
            if (!slice_starts_with(rest, SLICE_LIT("encoding=")))
                continue;
            rest = slice_sub(rest, 10, rest.len);
            for (n = 0; n < rest.len; n++)
                if (rest.data[n] == '"' || rest.data[n] == '\'')
                    break;
            return slice_sub(rest, 0, n);
        }
    }
    return SLICE_EMPTY;
}
