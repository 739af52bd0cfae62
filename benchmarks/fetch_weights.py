"""Get the weights of TabPFN and the code that reads them from the package index, by pip.

    python benchmarks/fetch_weights.py
    python benchmarks/fetch_weights.py --archives FOLDER
    DAPDAG_TABPFN=folder python benchmarks/fetch_weights.py

The first version's weights for classes lie in the source archive of tabpfn 0.1, the second's for
numbers in that of tabpfn-time-series 0.1.3; the code is that of tabpfn 0.1.11 and 2.0.9. They are
unpacked into the folder that DAPDAG_TABPFN names, or one in the user's cache, and never into this
repository; 230 MB. With --archives the archives are taken from a folder and nothing is downloaded.
Their licences are Apache 2.0 (0.1) and the Prior Labs License (2.0.9, Apache 2.0 with a clause of
attribution); nothing of them is part of dapdag.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from dapdag.baselines.peers.weights import VARIABLE, VERSIONS, missing_weights, weights_folder

# Of a version: the project and release whose source archive has the weights, and that of the code.
SOURCES = {
    "v1": (("tabpfn", "0.1"), ("tabpfn", "0.1.11")),
    "v2": (("tabpfn-time-series", "0.1.3"), ("tabpfn", "2.0.9")),
}


def download(project, release, folder, source):
    """One archive, without what it depends on: of the source, or a wheel."""
    kind = ["--no-binary", ":all:"] if source else ["--only-binary", ":all:"]
    limits = folder / "limits.txt"
    # pip builds the metadata of a source archive; newer releases refuse that of tabpfn 0.1.
    limits.write_text("hatchling<1.19\n")
    environment = {
        **os.environ,
        "PIP_CONSTRAINT": str(limits),
        "PIP_BUILD_CONSTRAINT": str(limits),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    command = [sys.executable, "-m", "pip", "download", "--no-deps", *kind, "--dest", str(folder)]
    subprocess.run([*command, f"{project}=={release}"], check=True, env=environment)


def archive(folder, project, release, ending):
    """The archive of a release, whose name has - or _."""
    stem = f"{project}-{release}".replace("-", "_")
    for path in sorted(folder.iterdir()):
        if path.name.endswith(ending) and path.name.replace("-", "_").startswith(stem):
            rest = path.name.replace("-", "_")[len(stem) :]
            if rest == ending or rest.startswith("_"):
                return path
    raise FileNotFoundError(f"{folder} has no {project}-{release}*{ending}")


def unpack(version, archives):
    """Weights and code of a version, into a new folder that then takes the old one's place."""
    (project, release), (code, code_release) = SOURCES[version.name]
    version.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=version.folder.parent) as name:
        new = Path(name) / version.name
        with zipfile.ZipFile(archive(archives, code, code_release, ".whl")) as wheel:
            wheel.extractall(new)
        with tarfile.open(archive(archives, project, release, ".tar.gz")) as source:
            found = [m for m in source if Path(m.name).name == version.weights and m.isfile()]
            if not found:
                raise FileNotFoundError(f"{source.name} has no {version.weights}")
            with source.extractfile(found[0]) as content, (new / version.weights).open("wb") as out:
                shutil.copyfileobj(content, out)
        if version.folder.exists():
            shutil.rmtree(version.folder)
        new.rename(version.folder)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--archives", type=Path, help="a folder that holds the four archives")
    parser.add_argument("--again", action="store_true", help="also what is there already")
    arguments = parser.parse_args()
    repository = Path(__file__).resolve().parents[1]
    if weights_folder().is_relative_to(repository):
        parser.exit(
            2, f"{VARIABLE} names a folder in the repository, where weights do not belong\n"
        )
    for task, version in VERSIONS.items():
        if not arguments.again and missing_weights(task) is None:
            print(f"{task}: already there, {version.folder}")
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = arguments.archives or Path(name)
            try:
                if not arguments.archives:
                    weights, code = SOURCES[version.name]
                    download(*weights, folder, source=True)
                    download(*code, folder, source=False)
                unpack(version, folder)
            except (OSError, subprocess.CalledProcessError, tarfile.TarError) as error:
                parser.exit(2, f"{task}: {error}\n")
        print(f"{task}: {version.file}")


if __name__ == "__main__":
    main()
