"""Drawn pages with known text, by a seed: rows of words in several sizes and columns, on paper of several colours."""
import random

from PIL import Image, ImageDraw, ImageFont

WORDS = (
    "account address amount annual april apple balance bridge bottle branch bread bright building camera candle carpet castle "
    "centre chapter cheese circle clean client coffee colour contract copper corner cotton counter country credit customer "
    "danger delivery discount doctor double dozen eastern electric engine engineer evening example factory family finger "
    "flower forest frame garden general glass golden grand ground harbour history holiday invoice island january journal "
    "kitchen ladder landing library linen machine market meeting metal mirror monday morning mountain number office orange "
    "order paper parcel pencil people pepper picture planet platform pocket postage price product quality quarter question "
    "railway receipt record ribbon river room saddle school season second service silver station street summer supply table "
    "teacher ticket timber total traffic train valley village volume water weather western window winter wooden yellow zebra"
).split()
FONTS = ["DejaVuSans", "DejaVuSerif", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSansCondensed"]


def font(name, size):
    return ImageFont.truetype(f"/usr/share/fonts/truetype/dejavu/{name}.ttf", size)


def page(seed, width=None, height=None):
    """A page, and its lines from top to bottom: each a text. Rows have one line each, far enough apart to be found one by one."""
    turn = random.Random(seed)
    width, height = width or turn.randint(480, 1400), height or turn.randint(360, 1400)
    paper = tuple(turn.randint(215, 255) for _ in range(3))
    ink = tuple(turn.randint(0, 70) for _ in range(3))
    if turn.random() < 0.2:
        paper, ink = ink, paper
    picture = Image.new("RGB", (width, height), paper)
    draw = ImageDraw.Draw(picture)
    lines, y = [], turn.randint(14, 40)
    while True:
        size = turn.choice([16, 18, 20, 24, 28, 32, 40])
        if y + 2 * size > height:
            return picture, lines
        face, text = font(turn.choice(FONTS), size), ""
        x = turn.randint(16, 60)
        for _ in range(turn.randint(1, 7)):
            word = turn.choice(WORDS)
            kind = turn.random()
            if kind < 0.25:
                word = word.capitalize()
            elif kind < 0.35:
                word = str(turn.randint(1, 99999))
            elif kind < 0.4:
                word = f"{turn.randint(1, 999)}.{turn.randint(0, 99):02}"
            longer = (text + " " + word).strip()
            if x + face.getlength(longer) > width - 16:
                break
            text = longer
        if text:
            draw.text((x, y), text, ink, face)
            lines.append(text)
        y += int(size * turn.uniform(1.7, 2.6))
