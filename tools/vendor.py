"""Fetch the scripts of pages and slides from npm, of known hashes, so that these tell no third party who reads."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

# package: (SHA-256 of its archive, {path in the archive: path on the site}); a folder brings all below it
MATHJAX = ("es5/tex-mml-chtml.js", "es5/input/tex/extensions", "es5/output/chtml/fonts")
PACKAGES = {
    "mathjax@3.2.2": (
        "1b9c0a1c44df864e915690558e72adb9cc5203360daefd385084ced3b6c64c09",
        {path: f"mathjax/{path}" for path in MATHJAX},
    ),
    "@fontsource-variable/source-serif-4@5.3.1": (
        "8c452853c74be1e43e9fbfe76321c26f4678a2d431e93209ff1d9faec03fd96f",
        {
            "files/source-serif-4-latin-wght-normal.woff2": "fonts/source-serif.woff2",
            "files/source-serif-4-latin-wght-italic.woff2": "fonts/source-serif-italic.woff2",
            "LICENSE": "fonts/source-serif-licence.txt",
        },
    ),
    "@fontsource-variable/inter@5.3.0": (
        "d26710dd38e7217484a1d47ee76c024977ec550548876f26d06ed1844af09a14",
        {"files/inter-latin-wght-normal.woff2": "fonts/inter.woff2", "LICENSE": "fonts/inter-licence.txt"},
    ),
}
SLIDES = {
    "reveal.js@5.2.1": (
        "359b575dd51bbda32f89b2fd4c7dc46ad7389a805572158916c29252f7a27333",
        {
            "dist/reveal.js": "reveal/reveal.js",
            "dist/reveal.css": "reveal/reveal.css",
            "plugin/notes/notes.js": "reveal/notes.js",
        },
    ),
}


class VendorError(SystemExit):
    """The scripts could not be had: npm is missing or offline, or an archive is not the pinned one."""


def fetch(folder: Path, packages: dict[str, tuple[str, dict[str, str]]] = PACKAGES) -> Path:
    """Return `folder` with the scripts in it, fetched where they are not there yet; a file beside it says which."""
    pins, stamp = repr(packages), folder.with_suffix(".pins")
    if folder.is_dir() and stamp.is_file() and stamp.read_text() == pins:
        return folder
    if not (npm := shutil.which("npm")):
        raise VendorError("npm is not installed")
    shutil.rmtree(folder, ignore_errors=True)
    for package, (sha256, files) in packages.items():
        with tempfile.TemporaryDirectory() as place:
            pack = subprocess.run([npm, "pack", "--silent", package], cwd=place, capture_output=True, text=True)
            if pack.returncode:
                raise VendorError(f"npm pack {package} failed: {pack.stderr.strip()[-200:]}")
            (archive,) = Path(place).glob("*.tgz")
            if (actual := hashlib.sha256(archive.read_bytes()).hexdigest()) != sha256:
                raise VendorError(f"{package} has SHA-256 {actual}, not {sha256} as pinned in tools/vendor.py")
            shutil.unpack_archive(archive, place, "gztar")  # its hash is known, so its paths are too
            for source, target in files.items():
                (folder / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(Path(place, "package", source), folder / target)
    stamp.write_text(pins)
    return folder
