#!/usr/bin/env python3
"""Makes the font files of this folder; see README.md for the command."""

import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

import cffsubr
from fontTools import subset
from fontTools.merge import Merger
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

HERE = Path(__file__).resolve().parent
NOTO = "usr/share/fonts/truetype/noto"
CJK = "usr/share/fonts/opentype/noto/NotoSansCJK-Medium.ttc"

# Latin, Greek and Cyrillic with combining marks, punctuation, currencies, letterlike symbols and number forms.
EUROPEAN = (
    "20-7E,A0-24F,250-2AF,2B0-2FF,300-36F,370-3FF,400-52F,1E00-1EFF,1F00-1FFF,"
    "2000-206F,2070-209F,20A0-20BF,2100-214F,2150-218F,2212,2215,25CC,FB00-FB04,FFFD"
)
# name: (file in the packages, its code points)
SMALL = {
    "sans-regular": (f"{NOTO}/NotoSans-Regular.ttf", EUROPEAN),
    "sans-bold": (f"{NOTO}/NotoSans-Bold.ttf", EUROPEAN),
    "arabic-regular": (f"{NOTO}/NotoSansArabic-Regular.ttf", "20,600-6FF,750-77F,25CC,FDF2,FDFA-FDFD"),
    "arabic-bold": (f"{NOTO}/NotoSansArabic-Bold.ttf", "20,600-6FF,750-77F,25CC,FDF2,FDFA-FDFD"),
    "hebrew-regular": (f"{NOTO}/NotoSansHebrew-Regular.ttf", "20,590-5FF,20AA,25CC,FB1D-FB4F"),
    "hebrew-bold": (f"{NOTO}/NotoSansHebrew-Bold.ttf", "20,590-5FF,20AA,25CC,FB1D-FB4F"),
    "devanagari-regular": (f"{NOTO}/NotoSansDevanagari-Regular.ttf", "20,900-97F,200C-200D,20B9,25CC"),
    "tamil-regular": (f"{NOTO}/NotoSansTamil-Regular.ttf", "20,964-965,B80-BFF,200C-200D,25CC"),
    "thai-regular": (f"{NOTO}/NotoSansThai-Regular.ttf", "20,E00-E7F,25CC"),
    "georgian-regular": (f"{NOTO}/NotoSansGeorgian-Regular.ttf", "20,10A0-10FF,1C90-1CBF"),
    "armenian-regular": (f"{NOTO}/NotoSansArmenian-Regular.ttf", "20,530-58F"),
    "math-regular": (f"{NOTO}/NotoSansMath-Regular.ttf", "20,2190-21FF,2200-22FF,27F0-27FF"),
    "symbols-regular": (
        f"{NOTO}/NotoSansSymbols-Regular.ttf",
        "20,2300-23FF,2460-24FF,2600-26FF,2776-2793",
    ),
    "symbols2-regular": (
        f"{NOTO}/NotoSansSymbols2-Regular.ttf",
        "20,21E6-21F3,2300-23FF,25A0-25FF,2600-26FF,2700-27BF,2B00-2B0D,2B12-2B1C,2B50-2B5F",
    ),
}
EMOJI = "twemoji/twemoji.woff2"
# The faces of the pages. name: (files in the packages, which split the characters; the instance)
PAGES = {
    "serif-medium": (
        [f"newsreader/files/newsreader-{part}-opsz-normal.woff2" for part in ("latin", "latin-ext", "vietnamese")],
        {"opsz": 30, "wght": 500},
    ),
    "text-regular": (
        [f"figtree/files/figtree-{part}-wght-normal.woff2" for part in ("latin", "latin-ext")],
        {"wght": 400},
    ),
    "text-semibold": (
        [f"figtree/files/figtree-{part}-wght-normal.woff2" for part in ("latin", "latin-ext")],
        {"wght": 600},
    ),
}
# Box drawing, CJK punctuation, kana, Bopomofo, enclosed letters, full and half width forms.
EAST_ASIAN = "20,2500-259F,2E80-2FDF,3000-303F,3041-30FF,3105-312F,31F0-31FF,3220-3247,3280-32B0,FF01-FF9F,FFE0-FFE6"


def double_bytes(encoding, first, second):
    """The characters that a part of a double-byte standard encodes."""
    found = set()
    for high in range(*first):
        for low in range(*second):
            try:
                text = bytes([high, low]).decode(encoding)
            except UnicodeDecodeError:
                continue
            if len(text) == 1:
                found.add(ord(text))
    return found


def han():
    """GB 2312 level 1, JIS X 0208 level 1, Big5 level 1: frequent characters of each country."""
    gb = double_bytes("gb2312", (0xB0, 0xD8), (0xA1, 0xFF))
    big5 = double_bytes("big5", (0xA4, 0xC7), (0x40, 0xFF))
    return {c for c in gb | big5 | japanese() if 0x4E00 <= c <= 0x9FFF}


def japanese():
    return double_bytes("euc_jp", (0xB0, 0xD0), (0xA1, 0xFF))


def hangul():
    """KS X 1001: the 2,350 frequent syllables."""
    return double_bytes("euc_kr", (0xB0, 0xC9), (0xA1, 0xFF))


def ranges(text):
    return set(subset.parse_unicodes(text))


def make(name, font, unicodes, features=("*",)):
    options = subset.Options()
    options.hinting = False
    options.layout_features = list(features)
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.notdef_outline = True
    options.drop_tables += ["vhea", "vmtx", "VORG", "STAT", "BASE", "gasp", "MATH", "meta"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=unicodes)
    subsetter.subset(font)
    font.flavor = None
    if "CFF " in font:
        cffsubr.subroutinize(font)  # A fifteenth smaller.
    path = HERE / f"{name}.{'otf' if 'CFF ' in font else 'ttf'}"
    font.save(path, reorderTables=True)
    print(f"{path.name}: {path.stat().st_size} bytes, {len(font.getBestCmap())} characters")


def instance(packages, files, axes):
    """One font of these files, which split the characters of a variable font."""
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for file in files:
            font = TTFont(packages / file, recalcTimestamp=False)
            font.flavor = None
            instancer.instantiateVariableFont(font, axes, inplace=True)
            parts.append(str(Path(folder) / f"{len(parts)}.ttf"))
            font.save(parts[-1])
        merged = Merger().merge(parts)
        merged["head"].modified = merged["head"].created = TTFont(parts[0])["head"].created
        whole = Path(folder) / "whole.ttf"
        merged.recalcTimestamp = False
        merged.save(whole)
        return TTFont(BytesIO(whole.read_bytes()), recalcTimestamp=False)


def main(packages):
    shaping = [
        "ccmp", "locl", "mark", "mkmk", "kern", "dist", "liga", "rlig", "calt", "clig", "rclt",
        "isol", "init", "medi", "fina", "curs", "stch",
        "nukt", "akhn", "rphf", "rkrf", "pref", "blwf", "abvf", "half", "pstf", "cjct", "vatu",
        "pres", "abvs", "blws", "psts", "haln", "abvm", "blwm",
    ]  # fmt: skip
    for name, (file, unicodes) in SMALL.items():
        make(name, TTFont(packages / file, recalcTimestamp=False), ranges(unicodes), shaping)
    for name, (files, axes) in PAGES.items():
        make(name, instance(packages, files, axes), range(0x20, 0x110000), shaping)
    make("emoji-colour", TTFont(packages / EMOJI, recalcTimestamp=False), range(0x20, 0x110000), shaping)

    numbers = {"jp": 0, "kr": 1, "sc": 2}
    cjk = {key: TTFont(packages / CJK, fontNumber=number, recalcTimestamp=False) for key, number in numbers.items()}
    forms = {key: font.getBestCmap() for key, font in cjk.items()}
    differs = {c for c in han() & japanese() if forms["jp"][c] != forms["sc"][c]}
    make("cjk-medium", cjk["sc"], ranges(EAST_ASIAN) | han(), [])
    make("cjk-jp-medium", cjk["jp"], differs | {0x20}, [])
    make("cjk-kr-medium", cjk["kr"], ranges("20,1100-1112,1161-1175,11A8-11C2,3131-3163") | hangul(), [])
    sums = subprocess.run(
        ["sha256sum", *sorted(p.name for p in HERE.glob("*.[ot]tf"))],
        cwd=HERE, check=True, capture_output=True, text=True,
    )  # fmt: skip
    (HERE / "SHA256SUMS").write_text(sums.stdout)


main(Path(sys.argv[1]))
