"""Whole applications of Debian's packages for the servers under test: WordPress on MariaDB, and the smallest Symfony.

Each is made in a temporary directory and told to the servers by BENCH_DOCROOT. It must not know which server uses it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import backends
from .peers import BENCH
from .proc import BenchError

SITES = BENCH / "sites"
WORDPRESS = Path("/usr/share/wordpress")
SYMFONY = Path("/usr/share/php/Symfony/Bundle/FrameworkBundle")


def need(path: Path) -> None:
    if not path.exists():
        raise BenchError(f"{path} is missing: bench/setup installs it")


@contextmanager
def wordpress(core: int) -> Iterator[None]:
    """WordPress as its package ships it, with one post and one plugin, on MariaDB. ?ms=500 in a page's address makes it ask the
    upstream for an answer that takes this long. MariaDB and the upstream run on `core`."""
    need(WORDPRESS)
    with backends.mariadb(core), backends.upstream(core), backends.directory("wordpress") as run:
        public = run / "public"
        shutil.copytree(WORDPRESS, public, symlinks=False)
        (public / "wp-config.php").unlink()  # Debian's file looks for sites in /etc
        shutil.copy(SITES / "wordpress" / "wp-config.php", run)
        (public / "wp-content" / "mu-plugins").mkdir(exist_ok=True)
        shutil.copy(SITES / "wordpress" / "plugin.php", public / "wp-content" / "mu-plugins")
        with backends.told(BENCH_DOCROOT=str(public), BENCH_TURNS=str(SITES / "turns.php")):
            install = ["php8.2", "-d", "sendmail_path=/bin/true", str(SITES / "wordpress" / "install.php"), str(public)]
            done = subprocess.run(install, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise BenchError(f"WordPress could not be installed: {(done.stdout + done.stderr).strip()[-400:]}")
            yield


@contextmanager
def symfony() -> Iterator[None]:
    """bench/sites/symfony with its own cache."""
    need(SYMFONY)
    with backends.directory("symfony") as run:
        shutil.copytree(SITES / "symfony", run, dirs_exist_ok=True)
        with backends.told(BENCH_DOCROOT=str(run / "public")):
            yield
