"""quarry dump of the cluster's file system: files made here from the grammar of
docs/formats.md are told and shown for what they are."""

import struct

from harness import CliTest, main

BLOCK = 65536
TABLE = []
for n in range(256):
    for _ in range(8):
        n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def text(s):
    return varint(len(s)) + s.encode()


def tail_record(data, sequence):
    tail = b"TAIL" + struct.pack("<IQI", len(data), sequence,
                                 crc32c(data[len(data) // BLOCK * BLOCK:]))
    return (tail + struct.pack("<I", crc32c(tail))).ljust(512, b"\0")


def checksums(data):
    blocks = [data[i:i + BLOCK] for i in range(0, len(data), BLOCK)]
    return b"".join(struct.pack("<I", crc32c(b)) for b in blocks)


def granted(data, base, is_open):
    """The same, all behind @base written by a grant."""
    out = bytearray(chunk(data[:base], sealed=False))
    grant = b"GRNT" + struct.pack("<IQI", base, 99, is_open)
    grant = (grant + struct.pack("<I", crc32c(grant))).ljust(512, b"\0")
    out[8192:8192 + 1536] = (grant + tail_record(data[:-1], 4) +
                             tail_record(data, 5))
    first = base // BLOCK
    sums = checksums(data[:len(data) // BLOCK * BLOCK])[first * 4:]
    out[12288 + first * 4:12288 + first * 4 + len(sums)] = sums
    return bytes(out[:65536]) + data


def chunk(data, sealed=True):
    """The file of chunk 7, version 3."""
    length = len(data) if sealed else 0
    head = b"QRCHUNK1" + struct.pack("<IIQII", 2, 3, 7, sealed, length)
    head = (head + struct.pack("<I", crc32c(head))).ljust(512, b"\0")
    if not sealed:
        head += tail_record(data, 9)
    head = head.ljust(4096, b"\0") + checksums(data)
    return head.ljust(65536, b"\0") + data


def image():
    """A namenode's: /d with quota, /d/f of one chunk of 1000 bytes."""
    out = b"QGFSIMG1" + varint(1) + varint(55)
    out += varint(9) + varint(1)
    out += varint(8) + varint(2) + varint(2) + b"\1" + varint(1000) + b"\3"
    out += varint(4) + varint(3)
    out += varint(1) + varint(0) + b"\1" + text("") + varint(0)
    out += varint(0) + varint(0)
    out += varint(2) + varint(1) + b"\1" + text("d") + varint(1000000)
    out += varint(10) + varint(0)
    out += varint(3) + varint(2) + b"\0" + text("f") + varint(2000000)
    out += b"\3" + varint(1) + varint(8)
    return out + varint(0) + varint(0) + varint(0) + varint(0)


def snapshot(body):
    config = varint(1) + varint(1) + b"\1" + text("127.0.0.1:1")
    rest = struct.pack("<QQQII", 55, 2, len(body), crc32c(body), len(config))
    rest += config
    return b"QRRAFSNP" + struct.pack("<II", 1, crc32c(rest)) + rest + body


def synced_slot(*fields):
    """A slot of log/synced: segment, position, and since version 2 bytes."""
    head = b"QRRAFEND" + struct.pack("<I", len(fields) - 1)
    rest = struct.pack("<%dQ" % len(fields), *fields)
    return head + struct.pack("<I", crc32c(head + rest)) + rest


def shared_segment(number, payloads):
    """A segment of a tablet server's log; (sequence, payload) each."""
    rest = struct.pack("<QQ", number, 0)
    head = b"QRYCMLOG" + struct.pack("<I", 1)
    out = head + struct.pack("<I", crc32c(head + rest)) + rest
    for sequence, payload in payloads:
        rest = struct.pack("<IQQII", len(payload), sequence, 0, 1, 0)
        rest += payload
        out += struct.pack("<I", crc32c(struct.pack("<Q", number) + rest))
        out += rest
    return out


class DumpFiles(CliTest):
    def save(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)

    def test_sealed_chunk(self):
        """A sealed chunk is summed up, and shown block by block."""
        data = bytes(i * 7 % 251 for i in range(BLOCK + 100))
        self.save("c", chunk(data))
        row, = self.json("dump", "c")
        self.assertEqual(row, {"chunk": 7, "version": 3, "state": "sealed",
                               "length": BLOCK + 100, "blocks": 2,
                               "damaged_blocks": 0, "grant": "none"})
        first, last = self.json("dump", "c", "--entries")
        self.assertEqual(first["crc32c"], "%08x" % crc32c(data[:BLOCK]))
        self.assertEqual((last["length"], last["state"]), (100, "good"))

    def test_synced(self):
        """dump reports of a member's log the most of both slots."""
        newer = synced_slot(7, 9000, 8 << 20)
        self.save("synced", synced_slot(7, 8000, 8 << 20).ljust(4096, b"\0") +
                  newer)
        self.assertEqual(self.json("dump", "synced"), [
            {"segment": 7, "position": 9000, "file_bytes": 8 << 20}])
        self.assertEqual(self.json("dump", "synced", "--entries"), [
            {"slot": 0, "segment": 7, "position": 8000, "file_bytes": 8 << 20},
            {"slot": 1, "segment": 7, "position": 9000, "file_bytes": 8 << 20}])
        # One of before lengths were in it, and one that is torn.
        self.save("old", synced_slot(3, 500).ljust(4096, b"\0") + newer[:-1])
        self.assertEqual(self.json("dump", "old", "--entries"), [
            {"slot": 0, "segment": 3, "position": 500, "file_bytes": 0}])

    def test_segment_list(self):
        """A segment of a tablet server's log tells which others there are."""
        listed = bytes(8) + varint(3) + varint(70000) + varint(5) + varint(32)
        self.save("00000007.log", shared_segment(7, [
            (0, listed), (0, struct.pack("<Q", 9)), (21, b"some entries")]))
        row, = self.json("dump", "00000007.log")
        self.assertEqual(row["names"],
                         "list 3 (70000 bytes) 5 (32 bytes); next 9")
        self.assertEqual((row["sequence_min"], row["sequence_max"]), (21, 21))
        first, second, third = self.json("dump", "00000007.log", "--entries")
        self.assertEqual(first["names"], "list 3 (70000 bytes) 5 (32 bytes)")
        self.assertEqual((second["names"], third["names"]), ("next 9", ""))
        self.save("bad", shared_segment(7, [(0, bytes(8) + b"\xff")]))
        self.assertEqual(self.json("dump", "bad")[0]["names"], "list malformed")

    def test_damage(self):
        """A block that is not what its checksum says is named."""
        data = bytearray(chunk(bytes(3 * BLOCK)))
        data[65536 + BLOCK + 5] ^= 1
        self.save("c", data)
        row, = self.json("dump", "c")
        self.assertEqual(row["damaged_blocks"], 1)
        states = [r["state"] for r in self.json("dump", "c", "--entries")]
        self.assertEqual(states, ["good", "damaged", "good"])

    def test_open_chunk(self):
        """An open chunk is as long as its longest record of an end says."""
        self.save("c", chunk(bytes(BLOCK + 10), sealed=False))
        row, = self.json("dump", "c")
        self.assertEqual((row["state"], row["length"], row["damaged_blocks"]),
                         ("open", BLOCK + 10, 0))

    def test_granted_chunk(self):
        """Bytes that a writer added by a grant count, with their checksums."""
        data = bytes(i * 11 % 241 for i in range(2 * BLOCK + 70))
        for base in 30, BLOCK, BLOCK + 500:
            for is_open in 0, 1:
                self.save("c", granted(data, base, is_open))
                row, = self.json("dump", "c")
                self.assertEqual(row["grant"], ("ended", "open")[is_open])
                self.assertEqual((row["length"], row["damaged_blocks"]),
                                 (len(data), 0))
        damaged = bytearray(granted(data, BLOCK, 1))
        damaged[12288 + 4] ^= 1
        self.save("c", damaged)
        row, = self.json("dump", "c")
        self.assertEqual(row["damaged_blocks"], 1)

    def test_bad_identity(self):
        """A chunk whose identity is damaged is refused."""
        data = bytearray(chunk(b"abc"))
        data[16] ^= 1
        self.save("c", data)
        self.assertIn("checksum", self.fails(1, "dump", "c"))

    def test_namenode(self):
        """A namenode's snapshot is summed up, and shown name by name."""
        self.save("s", snapshot(image()))
        row, = self.json("dump", "s")
        self.assertEqual(row, {"index": 55, "files": 1, "directories": 1,
                               "chunks": 1, "bytes": 1000, "open_files": 0,
                               "sessions": 0, "chunk_servers": 0,
                               "copying": ""})
        rows = self.json("dump", "s", "--entries")
        self.assertEqual([(r["path"], r["kind"], r["bytes"]) for r in rows],
                         [("/", "directory", 1000), ("/d", "directory", 1000),
                          ("/d/f", "file", 1000)])

    def test_bad_image(self):
        """An image that does not fit together is refused."""
        self.save("s", snapshot(image()[:-1]))
        self.assertIn("image", self.fails(1, "dump", "s"))


if __name__ == "__main__":
    main()
