#!/usr/bin/env python3
"""Makes the small files fuzzing begins with, next to this script. Needs nothing but Python."""
import gzip, io, pathlib, struct, tarfile, zipfile, zlib

HERE = pathlib.Path(__file__).parent


def put(name, content):
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def pdf(objects, trailer=""):
    out, offsets = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        body = body if isinstance(body, bytes) else body.encode()
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for offset in offsets:
        out += b"%010d 00000 n \n" % offset
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer.encode(), start)
    return bytes(out)


def stream(content, entries="", packed=True):
    content = content if isinstance(content, bytes) else content.encode()
    if packed:
        content, entries = zlib.compress(content), entries + " /Filter /FlateDecode"
    return b"<< /Length %d %s >>\nstream\n" % (len(content), entries.encode()) + content + b"\nendstream"


TREE = ["<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R] >> >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"]
PAGE = (
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /CropBox [10 10 290 190] /Rotate 90 /UserUnit 2 /Contents 4 0 R /Annots [6 0 R] "
    "/Resources << /Font << /F1 5 0 R /F2 8 0 R >> /XObject << /X1 7 0 R /X2 9 0 R >> >> >>"
)
TEXT = (
    "q 1 0 0 rg 20 20 100 50 re f 0.2 w 10 10 m 200 150 l S Q BT /F1 12 Tf 20 150 Td (Invoice 42) Tj 0 -20 Td [(To) -200 (tal) 30 (: 1,234.50)] TJ "
    "3 Tr (hidden) Tj 0 Tr /F2 10 Tf <0001000203e8> Tj ET q 40 0 0 40 200 100 cm /X1 Do Q /X2 Do"
)
FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
FIELD = "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada Lovelace) /Rect [20 80 120 95] /F 4 >>"
IMAGE = stream(bytes(range(64)), "/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8")
CID = (
    "<< /Type /Font /Subtype /Type0 /BaseFont /Mincho /Encoding /90ms-RKSJ-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Mincho "
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /W [1 [500 600]] /FontDescriptor << /Type /FontDescriptor /Flags 4 >> >>] >>"
)
FORM = stream("BT /F1 8 Tf 5 5 Td (in a form) Tj ET /X2 Do", "/Type /XObject /Subtype /Form /BBox [0 0 100 100] /Resources << /Font << /F1 5 0 R >> /XObject << /X2 9 0 R >> >>")
whole = pdf(TREE + [PAGE, stream(TEXT), FONT, FIELD, IMAGE, CID, FORM])
put("pdf/page.pdf", whole)
put("pdf/plain.pdf", pdf(TREE[:1] + TREE[1:] + [PAGE, stream(TEXT, packed=False), FONT, FIELD, IMAGE, CID, FORM]))
put("pdf/no-xref.pdf", whole[: whole.rindex(b"xref\n0")])
put("pdf/type3.pdf", pdf(TREE + [PAGE, stream("BT /F1 20 Tf 20 50 Td (ab) Tj ET"),
    "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1000 1000] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 97 /LastChar 98 /Widths [1000 1000] "
    "/Encoding << /Differences [97 /a /b] >> /CharProcs << /a 7 0 R /b 9 0 R >> >>", FIELD, stream("1000 0 0 0 750 750 d1 0 0 750 750 re f"), FONT, FORM]))

zipped = io.BytesIO()
with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("a.txt", "some words of a text\n" * 3)
    archive.writestr("b/c.csv", "a;b\n1;2\n")
    archive.writestr("stored.txt", "x", compress_type=zipfile.ZIP_STORED)
put("archives/some.zip", zipped.getvalue())
taped = io.BytesIO()
with tarfile.open(fileobj=taped, mode="w") as archive:
    for name in ("a.txt", "b/" + "long" * 40 + ".txt"):
        info = tarfile.TarInfo(name)
        info.size = 11
        archive.addfile(info, io.BytesIO(b"some words\n"))
put("archives/some.tar", taped.getvalue())
put("archives/some.tar.gz", gzip.compress(taped.getvalue(), mtime=0))
# one stored file: the shortest 7z there is
header = bytes.fromhex("0104060001090b00070b01000101000c0b00080a01") + struct.pack("<I", zlib.crc32(b"some words\n")) + bytes.fromhex("00000501110d0061002e0074007800740000000000")
start = struct.pack("<QQI", 11, len(header), zlib.crc32(header))
put("archives/some.7z", b"7z\xbc\xaf\x27\x1c\x00\x04" + struct.pack("<I", zlib.crc32(start)) + start + b"some words\n" + header)

put("mail/some.eml", "From: =?utf-8?q?Ad=C3=A4?= <a@example.com>\r\nTo: b@example.com\r\nSubject: =?iso-8859-1?B?UmVjaG51bmc=?=\r\nMIME-Version: 1.0\r\n"
    "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/alternative; boundary=c\r\n\r\n--c\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=BC=C3=9Fe\r\n--c\r\nContent-Type: text/html\r\n\r\n<p>hello<script>x</script>\r\n--c--\r\n--b\r\n"
    "Content-Type: text/csv; name*=utf-8''a%20b.csv\r\nContent-Disposition: attachment; filename=\"a.csv\"\r\nContent-Transfer-Encoding: base64\r\n\r\nYTtiCjE7Mgo=\r\n--b\r\n"
    "Content-Type: message/rfc822\r\n\r\nFrom: c@example.com\r\nSubject: inner\r\n\r\nbody\r\n--b--\r\n")
# the header of a compound file with one sector of table and one of directory
name = "Root Entry".encode("utf-16-le")
entry = name.ljust(64, b"\0") + struct.pack("<HBB", len(name) + 2, 5, 1) + b"\xff" * 12 + bytes(36) + struct.pack("<IQ", 0xFFFFFFFE, 0)
put("mail/some.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    + struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0) + struct.pack("<I", 0) + b"\xff" * 432
    + struct.pack("<II", 0xFFFFFFFD, 0xFFFFFFFE) + b"\xff" * 504 + entry.ljust(512, b"\0"))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


put("sniff/some.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress((b"\0" + bytes(range(24))) * 8)) + chunk(b"IEND", b""))
put("sniff/some.gif", b"GIF89a\x02\0\x02\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x02\0\x02\0\0\x02\x03\x44\x02\x05\0;")
put("sniff/some.bmp", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 70, 0, 0, 54, 40, 2, 2, 1, 24, 0, 16, 0, 0, 0, 0) + bytes(16))
put("sniff/some.tiff", b"II*\0" + struct.pack("<IH", 12, 8) + b"\x80\x40" + b"".join(struct.pack("<HHII", tag, kind, 1, value)
    for tag, kind, value in [(256, 3, 4), (257, 3, 2), (258, 3, 1), (259, 3, 1), (262, 3, 1), (273, 4, 10), (278, 3, 2), (279, 4, 2)]) + bytes(4))
put("sniff/some.svg", '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><defs><g id="a"><rect width="5" height="5"/></g></defs><use href="#a"/><text y="9">hi</text></svg>')
put("sniff/some.rtf", "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Arial;}}\\f0 Gr\\'fc\\u223?e\\par{\\b bold}\\cell\\row}")
put("sniff/some.html", "<!doctype html><title>t</title><h1>Invoice</h1><table><tr><td>a<td>b</table><ul><li>x<ol><li>y</ol></ul>&amp;")
put("sniff/some.csv", "name;amount\n\"a;b\";1,50\nc;2\n")
put("sniff/some.txt", "# Title\n\n* one\n* two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
word = io.BytesIO()
with zipfile.ZipFile(word, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("[Content_Types].xml", '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>')
    archive.writestr("word/document.xml", '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>Hello</w:t></w:r></w:p>'
        '<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>')
put("sniff/some.docx", word.getvalue())
sheet = io.BytesIO()
with zipfile.ZipFile(sheet, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("mimetype", "application/vnd.oasis.opendocument.text", compress_type=zipfile.ZIP_STORED)
    archive.writestr("content.xml", '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
        '<office:body><office:text><text:h>Title</text:h><text:p>words<text:tab/>more</text:p></office:text></office:body></office:document-content>')
put("sniff/some.odt", sheet.getvalue())
