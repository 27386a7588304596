"""Tell the book where it lives and which version it is: put its address and its version wherever they stand.

pyproject.toml holds both; buttons, badges, bootstrap cells and metadata follow. Buttons and cells lead to the tag of
the version, so that the text and the library that a reader gets are of one release.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOLDER = re.compile(r'^Repository = "https://github\.com/([^/"]+)/([^/"]+)"$', re.MULTILINE)
VERSION = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)


def files(root: Path) -> list[Path]:
    """Return the project's own files: those that git tracks or would."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [path for name in listed.stdout.split("\0") if name and (path := root / name).is_file()]


def move(root: Path, url: str = "") -> list[Path]:
    """Write the new address ("": the one in force) and pyproject.toml's version, and return the changed files."""
    project, changed = (root / "pyproject.toml").read_text(encoding="utf8"), []
    old, version = HOLDER.search(project).groups(), VERSION.search(project)[1]
    url = url or f"https://github.com/{'/'.join(old)}"
    if not (right := re.fullmatch(r"https://github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?/?", url)):
        raise SystemExit(
            f"{url!r} is no repository's address; right is: make address URL=https://github.com/you/unrolled"
        )
    new = right.groups()
    end, slug = r"(?![A-Za-z0-9_-])", "/".join(new)
    repository = rf"(github\.com/|usercontent\.com/|/github/){re.escape('/'.join(old))}{end}"
    site = rf"{re.escape(f'{old[0]}.github.io/{old[1]}')}{end}"
    tag = rf"/github/{re.escape(slug)}/blob/v|github\.com/{re.escape(slug)}@v"
    line = r'^version: |^__version__ = "|^  branch: v|^    version = \{|\(Version '
    for path in files(root):
        text = path.read_bytes().decode("utf8", "surrogateescape")  # a picture has none of it
        made = re.sub(site, f"{new[0]}.github.io/{new[1]}", re.sub(repository, rf"\g<1>{slug}", text))
        made = re.sub(rf"({tag}|{line})\d[\w.+-]*", rf"\g<1>{version}", made, flags=re.MULTILINE)
        if made != text:
            path.write_bytes(made.encode("utf8", "surrogateescape"))
            changed.append(path)
    return changed


def main() -> None:
    """Move the book."""
    for path in move(ROOT, *sys.argv[1:]):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
