"""PNG files made smaller, for the pictures of the documentation."""

import struct
import zlib

# 32 shades a colour.
FEWER = bytes((i >> 3) * 255 // 31 for i in range(256))


def unfilter(data, stride, size):
    """The rows of a PNG of @size bytes a pixel."""
    before = bytearray(stride)
    for at in range(0, len(data), stride + 1):
        kind, row = data[at], bytearray(data[at + 1:at + 1 + stride])
        for i in range(stride):
            left = row[i - size] if i >= size else 0
            up = before[i]
            corner = before[i - size] if i >= size else 0
            if kind == 4:
                p = left + up - corner
                near = min((abs(p - left), 0, left), (abs(p - up), 1, up),
                           (abs(p - corner), 2, corner))[2]
            else:
                near = (0, left, up, (left + up) // 2)[kind]
            row[i] = (row[i] + near) & 255
        before = row
        yield row


def chunk(name, body):
    return (struct.pack(">I", len(body)) + name + body +
            struct.pack(">I", zlib.crc32(name + body)))


def indexed(rows, width):
    """(the palette, rows of indices) of rows of RGB, or None: more than 256
    colours."""
    palette, out = {}, bytearray()
    for row in rows:
        out.append(0)
        for at in range(0, 3 * width, 3):
            colour = bytes(row[at:at + 3])
            index = palette.setdefault(colour, len(palette))
            if index == 256:
                return None
            out.append(index)
    return b"".join(palette), out


def shrink(path):
    """Write the PNG again without transparency and with fewer colours: with a
    palette, if it then has no more than 256."""
    with open(path, "rb") as f:
        png = f.read()
    width, height, _, colours = struct.unpack(">IIBB", png[16:26])
    size = {2: 3, 6: 4}[colours]
    data, at = b"", 8
    while at < len(png):
        length, = struct.unpack(">I", png[at:at + 4])
        if png[at + 4:at + 8] == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    rows = []
    for row in unfilter(zlib.decompress(data), size * width, size):
        rgb = bytearray(3 * width)
        for k in range(3):
            rgb[k::3] = row[k::size].translate(FEWER)
        rows.append(rgb)
    few = indexed(rows, width)
    kind, out = (3, few[1]) if few else (2, b"".join(b"\0" + r for r in rows))
    with open(path, "wb") as f:
        f.write(png[:8])
        f.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind,
                                           0, 0, 0)))
        if few:
            f.write(chunk(b"PLTE", few[0]))
        f.write(chunk(b"IDAT", zlib.compress(bytes(out), 9)))
        f.write(chunk(b"IEND", b""))
