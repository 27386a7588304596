"""Tell the book where it lives and which version it is: put its address and its version wherever they stand.

pyproject.toml holds both; buttons, badges, bootstrap cells and metadata follow. Buttons and cells lead to the tag of
the version, so that the text and the library that a reader gets are of one release.
"""

import argparse
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOLDER = re.compile(r'^Repository = "https://github\.com/([^/"]+)/([^/"]+)"$', re.MULTILINE)
VERSION = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)


def parse(url: str) -> tuple[str, str]:
    """Return the owner and the name in a repository's address."""
    if not (match := re.fullmatch(r"https://github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?/?", url.strip())):
        raise SystemExit(
            f"{url!r} is no repository's address; right is: make address URL=https://github.com/you/unrolled"
        )
    return match[1], match[2]


def files(root: Path) -> list[Path]:
    """Return the project's own files: those that git tracks or would."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [path for name in listed.stdout.split("\0") if name and (path := root / name).is_file()]


def moved(text: str, old: tuple[str, str], new: tuple[str, str], version: str) -> str:
    """Return the text with the new repository's addresses for the old one's, and this version in tags and metadata."""
    end, slug = r"(?![A-Za-z0-9_-])", "/".join(new)
    text = re.sub(rf"(github\.com/|usercontent\.com/|/github/){re.escape('/'.join(old))}{end}", rf"\g<1>{slug}", text)
    text = re.sub(rf"{re.escape(f'{old[0]}.github.io/{old[1]}')}{end}", f"{new[0]}.github.io/{new[1]}", text)
    tag = rf"/github/{re.escape(slug)}/blob/v|github\.com/{re.escape(slug)}@v"
    line = r'^version: |^__version__ = "|^  branch: v|^    version = \{|\(Version '
    return re.sub(rf"({tag}|{line})\d[\w.+-]*", rf"\g<1>{version}", text, flags=re.MULTILINE)


def move(root: Path, url: str | None = None) -> list[Path]:
    """Write the new address (None: the one in force) and pyproject.toml's version, and return the changed files."""
    project, changed = (root / "pyproject.toml").read_text(encoding="utf8"), []
    old, version = HOLDER.search(project).groups(), VERSION.search(project)[1]
    new = parse(url) if url else old
    for path in files(root):
        text = path.read_bytes().decode("utf8", "surrogateescape")  # a picture has neither
        if (made := moved(text, old, new, version)) != text:
            path.write_bytes(made.encode("utf8", "surrogateescape"))
            changed.append(path)
    return changed


def main() -> None:
    """Move the book."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?", help="such as https://github.com/you/unrolled (default: as it is)")
    for path in move(ROOT, parser.parse_args().url):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
