"""The peers of `cargo xtask bench pages`: words with boxes and pages drawn as JPEG, by pdfium and by PyMuPDF.

pages_peer.py pdfium|pymupdf words|draw FILE...   one JSON object a file on standard output
Times are processor seconds of this process. For pdfium, whose words are put together here in Python, only its
own part is timed: opening, parsing the page and handing out its text.
"""

import json
import sys
import time

MAX_PAGES = 200


def pymupdf_words(path):
    import pymupdf

    began = time.process_time()
    document = pymupdf.open(path)
    pages = []
    for number, page in enumerate(document):
        if number >= MAX_PAGES:
            break
        found = page.get_text("words")
        pages.append((found, page.rotation_matrix, page.rect))
    seconds = time.process_time() - began
    out = []
    for found, matrix, rect in pages:
        words = []
        for x0, y0, x1, y1, text, *_ in found:
            box = pymupdf.Rect(x0, y0, x1, y1) * matrix
            words.append([box.x0 / rect.width, box.y0 / rect.height, box.x1 / rect.width, box.y1 / rect.height, text])
        out.append(words)
    return seconds, out


def pdfium_words(path):
    import pypdfium2

    began = time.process_time()
    document = pypdfium2.PdfDocument(path)
    pages = []
    for number in range(min(len(document), MAX_PAGES)):
        page = document[number]
        text_page = page.get_textpage()
        pages.append((page, text_page, text_page.get_text_range()))
    seconds = time.process_time() - began
    out = []
    for page, text_page, _ in pages:
        left, bottom, right, top = page.get_cropbox()
        width, height = max(right - left, 1), max(top - bottom, 1)
        rotation = page.get_rotation()
        words, current, box = [], "", None

        def turn(x, y):
            x, y = (x - left) / width, 1 - (y - bottom) / height
            return {0: (x, y), 90: (1 - y, x), 180: (1 - x, 1 - y), 270: (y, 1 - x)}[rotation]

        def close():
            if current and box:
                (ax, ay), (bx, by) = turn(box[0], box[1]), turn(box[2], box[3])
                words.append([min(ax, bx), min(ay, by), max(ax, bx), max(ay, by), current])

        for index in range(text_page.count_chars()):
            char = text_page.get_text_range(index, 1)
            if not char or char.isspace():
                close()
                current, box = "", None
                continue
            l, b, r, t = text_page.get_charbox(index, loose=True)
            current += char
            box = (l, b, r, t) if box is None else (min(box[0], l), min(box[1], b), max(box[2], r), max(box[3], t))
        close()
        out.append(words)
    return seconds, out


def pymupdf_draw(path):
    import pymupdf

    began = time.process_time()
    pymupdf.open(path)[0].get_pixmap(dpi=200).tobytes("jpeg", jpg_quality=85)
    return time.process_time() - began, None


def pdfium_draw(path):
    import io

    import PIL.JpegImagePlugin
    import pypdfium2

    began = time.process_time()
    image = pypdfium2.PdfDocument(path)[0].render(scale=200 / 72).to_pil().convert("RGB")
    image.save(io.BytesIO(), "JPEG", quality=85)
    return time.process_time() - began, None


def main():
    engine, job, *files = sys.argv[1:]
    work = globals()[f"{engine}_{job}"]
    for path in files:
        try:
            seconds, words = work(path)
            print(json.dumps({"file": path, "seconds": seconds, "words": words}), flush=True)
        except Exception as error:
            print(json.dumps({"file": path, "error": str(error)[:200]}), flush=True)


main()
