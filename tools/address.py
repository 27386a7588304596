"""Tell the book where it lives: put the repository's address wherever it stands.

pyproject.toml holds the address in force; buttons, badges, bootstrap cells and metadata are changed with it.
"""

import argparse
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOLDER = re.compile(r'^Repository = "https://github\.com/([^/"]+)/([^/"]+)"$', re.MULTILINE)
NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?"


def parse(url: str) -> tuple[str, str]:
    """Return the owner and the name in a repository's address.

    Raises:
        ValueError: it is not the address of a GitHub repository.
    """
    match = re.fullmatch(rf"https://github\.com/({NAME})/({NAME}?)(?:\.git)?/?", url.strip())
    if not match:
        raise ValueError(
            f"{url!r} is not a repository's address; right is: make address URL=https://github.com/you/unrolled"
        )
    return match[1], match[2]


def files(root: Path) -> list[Path]:
    """Return the project's own files: those that git tracks or would."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [path for name in listed.stdout.split("\0") if name and (path := root / name).is_file()]


def replace(text: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """Return the text with the old repository's addresses, and its pages', turned into the new one's."""
    end = r"(?![A-Za-z0-9_-])"
    slug, pages = re.escape("/".join(old)), re.escape(f"{old[0]}.github.io/{old[1]}")
    text = re.sub(rf"(github\.com/|githubusercontent\.com/|/github/){slug}{end}", rf"\g<1>{'/'.join(new)}", text)
    return re.sub(rf"{pages}{end}", f"{new[0]}.github.io/{new[1]}", text)


def move(root: Path, url: str) -> list[Path]:
    """Write the new address into every file that has the old one, and return those files.

    Raises:
        ValueError: `url` is malformed, or pyproject.toml holds no address.
    """
    new = parse(url)
    holder = HOLDER.search((root / "pyproject.toml").read_text(encoding="utf8"))
    if not holder:
        raise ValueError('pyproject.toml has no line like: Repository = "https://github.com/you/unrolled"')
    changed = []
    for path in files(root):
        try:
            text = path.read_bytes().decode("utf8")
        except UnicodeDecodeError:
            continue
        if (moved := replace(text, holder.groups(), new)) != text:
            path.write_bytes(moved.encode("utf8"))
            changed.append(path)
    return changed


def main() -> None:
    """Move the book."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="such as https://github.com/you/unrolled")
    try:
        changed = move(ROOT, parser.parse_args().url)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print("\n".join(f"  {path.relative_to(ROOT)}" for path in changed) or "  nothing to change")


if __name__ == "__main__":
    main()
