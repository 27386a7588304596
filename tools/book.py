"""Build _build/html: execute the chapters that changed, then let Jupyter Book make pages of them."""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import yaml
from sphinx_external_toc.parsing import parse_toc_data

import pictures
import slides
import unrolled
from notebooks import ROOT, chapters, executed, figures_of
from unrolled.figures import explore, live
from vendor import SLIDES, VendorError, fetch

BUILD = ROOT / "_build"
SOURCE = BUILD / "source"
EXTRA = "extra"  # in the source, what the site serves beside its pages
BROWSER = Path(unrolled.__file__).parent / "figures" / "browser"  # scripts and weights of the demonstrations
PICTURES = ROOT / "figures" / "demonstrations"  # of each of them
NEED_ADDRESS = ("sphinxext.opengraph", "sphinx_sitemap")  # extensions that write it into pages
TASK = re.compile(
    r"\A(## (?:Exercise|Open task) .+\n\n\*.+\*\n)(.*?)(?:\n+<details>.*)?\Z", re.DOTALL
)  # before its hints
INCLUDED = re.compile(r"^`*\{(?:literal)?include\} (\S+)$", re.MULTILINE)


def stored(path: Path) -> nbformat.NotebookNode:
    """Return a stored notebook as its page shows it: of solutions without the lines that exercises are made from."""
    notebook = nbformat.read(path, as_version=4)
    if path.parent.name == "solutions":
        title = notebook.cells[0].source.partition("\n")[0].replace("# Exercises:", "# Solutions:", 1)
        notebook.cells[
            0
        ].source = f"{title}\n\nEach task is folded above its solution, and the checks are folded below it."
        for cell in notebook.cells:
            cell.source = TASK.sub(r"\1\n<details>\n<summary>The task</summary>\n\2\n\n</details>", cell.source)
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.metadata.tags = [*cell.metadata.get("tags", []), "solution"]
            made_from = "### " if cell.cell_type == "code" else ("### BEGIN SOLUTION", "### END SOLUTION")
            kept = [line for line in cell.source.split("\n") if not line.lstrip().startswith(made_from)]
            cell.source = "\n".join(kept)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade") or marks.get("grade_id") == "set-up":
            cell.metadata.tags = [*cell.metadata.get("tags", []), "hide-input"]
            cell.metadata.mystnb = {"code_prompt_show": "How it is checked" if marks.get("grade") else "Setup"}
    return notebook


def beside_figures(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Give what a cell displays beside its figure a cell of its own: MyST-NB would make it another figure."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        shown = cell.outputs if "figure" in cell.metadata.get("mystnb", {}) else []
        if lines := [output for output in shown if set(output.get("data", {})) == {"text/html", "text/plain"}]:
            cell.outputs = [output for output in shown if output not in lines]
            beside = {"id": f"{cell.id}-beside", "outputs": lines, "metadata": {"tags": ["remove-input"]}}
            cells.append(nbformat.v4.new_code_cell("...", **beside))  # MyST-NB leaves out a cell without code
    notebook.cells = cells
    return notebook


def contents(student: bool) -> dict:
    """Return the table of contents, for a student without the solutions, which stand below their chapters."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf8"))
    for chapter in (chapter for part in toc["parts"] for chapter in part["chapters"] if student):
        if below := chapter.get("sections"):
            chapter["sections"] = [entry for entry in below if not entry["file"].startswith("solutions/")]
    return toc


def assemble(copies: dict[str, nbformat.NotebookNode], vendor: Path | None, student: bool) -> None:
    """Fill _build/source with the pages that _toc.yml lists, for a student without solutions, and what they show.

    Of the notebooks some may be given as they were executed; without a folder of scripts a public network serves them.
    """
    shutil.rmtree(SOURCE, ignore_errors=True)
    toc = contents(student)
    for folder in ("data", "figures", "exercises", "pages/_static", "pages/_templates"):  # chapters include tables
        shutil.copytree(ROOT / folder, SOURCE / Path(folder).name)
    for name in parse_toc_data(toc):
        if (ROOT / f"{name}.ipynb").is_file():
            notebook_page(name, copies.get(name))
            continue
        page, original = SOURCE / f"{name}.md", ROOT / f"{name}.md"
        for file in (original.name, *INCLUDED.findall(original.read_text(encoding="utf8"))):
            (page.parent / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(original.parent / file, page.parent / file)
    lay_out_demonstrations(SOURCE / EXTRA)
    for name in live.with_pictures():
        (SOURCE / "figures" / f"demonstration-{name}.html").write_text(live.figure(name, root="../"), encoding="utf8")
    (SOURCE / "figures" / "front.html").write_text(live.figure("race"), encoding="utf8")  # for the page at the root
    if vendor:
        shutil.copytree(vendor, SOURCE / EXTRA, copy_function=os.link, dirs_exist_ok=True)
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))
    for name, made in (("_toc", toc), ("_config", settled(config, serves_scripts=bool(vendor)))):
        (SOURCE / f"{name}.yml").write_text(yaml.safe_dump(made, sort_keys=False), encoding="utf8")


def notebook_page(name: str, executed: nbformat.NotebookNode | None) -> None:
    """Write the page of a notebook, and what it shows; the figures are those of its execution, where it has one."""
    original = ROOT / f"{name}.ipynb"
    fresh, notebook = figures_of(original), executed or stored(original)
    if name.startswith("chapters/"):
        drawn = fresh if executed else ROOT / "figures"
        pictures.on_page(notebook, name, drawn, fresh / explore.FOLDER, SOURCE / EXTRA)
    for figure in fresh.glob("*.svg") if executed else ():
        shutil.copy2(figure, SOURCE / "figures")
    (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(beside_figures(notebook), SOURCE / f"{name}.ipynb")


def settled(config: dict, serves_scripts: bool) -> dict:
    """Return what _config.yml holds, less what depends on an address, or on scripts, that the site does not have."""
    options, site = config["sphinx"]["config"], config["html"]["baseurl"]
    options["notfound_urls_prefix"] = urlsplit(site).path  # the page is shown for any missing address, however deep
    if not serves_scripts:
        del options["mathjax_path"]
    if not site.startswith("https://OWNER."):  # `make address` puts a name there
        options["ogp_site_url"] = site
        return config
    del config["html"]["baseurl"]
    options["extensions"] = [name for name in options["extensions"] if name not in NEED_ADDRESS]
    for name in [name for name in options if name.startswith(("ogp_", "sitemap_"))]:
        del options[name]
    return config


def lay_out_demonstrations(site: Path) -> None:
    """Put into a folder what demonstrations load, as the site has it: the scripts and the weights, and the pictures."""
    shutil.copytree(BROWSER, site / "browser", ignore=shutil.ignore_patterns("*.toml"))
    shutil.copytree(PICTURES, site / "browser", dirs_exist_ok=True)


def sphinx() -> None:
    """Make the pages anew, warnings being errors; nothing where all that they are made of is as it was."""
    made_of = [path for folder in (SOURCE, ROOT / "lib", ROOT / "tools") for path in sorted(folder.rglob("*.*"))]
    made_of = [ROOT / "constraints.txt", *(path for path in made_of if path.is_file() and path.suffix != ".pyc")]
    contents = (f"{path}{path.read_bytes()}" for path in made_of)
    key, now = BUILD / "html.key", hashlib.sha256("".join(contents).encode()).hexdigest()
    if key.is_file() and key.read_text() == now:
        return
    key.unlink(missing_ok=True)
    shutil.rmtree(BUILD / "html", ignore_errors=True)
    print("Making the pages ...", flush=True)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", SOURCE, "--path-output", ROOT, "--all"]
    command += ["--warningiserror", "--nitpick", "--keep-going", "--quiet"]
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])  # for the extensions
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": path.rstrip(os.pathsep)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nThe pages have the faults above: none counts as built.")
    pictures.mend(BUILD / "html")
    key.write_text(now)


def main() -> None:
    """Build the book."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", action="store_true", help="use the stored outputs, execute nothing")
    parser.add_argument("--student", action="store_true", help="leave the solutions out")
    arguments = parser.parse_args()
    copies = {} if arguments.stored else executed(chapters())
    try:
        vendor = fetch(BUILD / "vendor")
    except VendorError as error:
        print(f"The pages will load MathJax from a public network: {error}.", flush=True)
        vendor = None
    assemble({f"chapters/{path.stem}": made for path, made in copies.items()}, vendor, arguments.student)
    sphinx()
    decks = BUILD / "html" / "slides"
    if vendor and not decks.is_dir():
        slides.write(decks, (vendor, fetch(BUILD / "vendor-slides", SLIDES)))
    print(f"The book: {BUILD / 'html' / 'index.html'}", flush=True)


if __name__ == "__main__":
    main()
