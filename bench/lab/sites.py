"""Whole applications of Debian's packages for the servers under test: WordPress, MediaWiki, DokuWiki and phpMyAdmin, and the
smallest Symfony.

Each is made in a temporary directory and told to the servers by BENCH_DOCROOT. It must not know which server uses it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import backends
from .peers import BENCH, PHP
from .proc import BenchError

SITES = BENCH / "sites"
WORDPRESS = Path("/usr/share/wordpress")
MEDIAWIKI = Path("/usr/share/mediawiki")
DOKUWIKI = Path("/usr/share/dokuwiki")
PHPMYADMIN = Path("/usr/share/phpmyadmin")
SYMFONY = Path("/usr/share/php/Symfony/Bundle/FrameworkBundle")


def need(path: Path) -> None:
    if not path.exists():
        raise BenchError(f"{path} is missing: bench/setup installs it")


def run_php(what: str, *arguments: str, text: str = "") -> None:
    """A script of an application that installs it."""
    command = [PHP, "-d", "sendmail_path=/bin/true", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, input=text)
    if done.returncode != 0:
        raise BenchError(f"{what} could not be installed: {(done.stdout + done.stderr).strip()[-400:]}")


def wordpress_in(run: Path) -> dict[str, str]:
    need(WORDPRESS)
    public = run / "public"
    shutil.copytree(WORDPRESS, public, symlinks=False)
    (public / "wp-config.php").unlink()  # Debian's file looks for sites in /etc
    shutil.copy(SITES / "wordpress" / "wp-config.php", run)
    (public / "wp-content" / "mu-plugins").mkdir(exist_ok=True)
    shutil.copy(SITES / "wordpress" / "plugin.php", public / "wp-content" / "mu-plugins")
    told = {"BENCH_DOCROOT": str(public), "BENCH_TURNS": str(SITES / "turns.php")}
    with backends.told(**told):
        run_php("WordPress", str(SITES / "wordpress" / "install.php"), str(public))
    return told


def mediawiki_in(run: Path) -> dict[str, str]:
    """Served where the package has it; its configuration is told by MW_CONFIG_FILE, which MediaWiki looks at."""
    need(MEDIAWIKI)
    maintenance = MEDIAWIKI / "maintenance"
    run_php("MediaWiki", str(maintenance / "install.php"), f"--confpath={run}", f"--dbserver=localhost:{os.environ['BENCH_DB_SOCKET']}",
            "--dbname=wiki", "--dbuser=root", "--dbpass=", "--installdbuser=root", "--installdbpass=", "--scriptpath=", "--server=http://localhost",
            "--pass=a long pass phrase", "The bench", "Boss")
    settings = run / "LocalSettings.php"
    settings.write_text(settings.read_text() + f"\nrequire '{SITES / 'mediawiki' / 'settings.php'}';\n")
    told = {"BENCH_DOCROOT": str(MEDIAWIKI), "MW_CONFIG_FILE": str(settings)}
    with backends.told(**told):
        run_php("MediaWiki's page", str(maintenance / "edit.php"), "Bench", text=(SITES / "mediawiki" / "page.txt").read_text())
    return told


def dokuwiki_in(run: Path) -> dict[str, str]:
    need(DOKUWIKI)
    public, conf = run / "public", run / "conf"
    shutil.copytree(DOKUWIKI, public, symlinks=False, ignore=shutil.ignore_patterns(".htaccess"))
    shutil.copytree("/etc/dokuwiki", conf, symlinks=False)
    shutil.copytree("/var/lib/dokuwiki/data", run / "data")
    (public / "inc" / "preload.php").unlink()
    shutil.copy(SITES / "dokuwiki" / "preload.php", public / "inc")
    shutil.copy(SITES / "dokuwiki" / "local.php", conf)
    shutil.copy(SITES / "dokuwiki" / "start.txt", run / "data" / "pages")
    return {"BENCH_DOCROOT": str(public)}


def phpmyadmin_in(run: Path) -> dict[str, str]:
    need(PHPMYADMIN)
    public = run / "public"
    shutil.copytree(PHPMYADMIN, public, symlinks=False)
    shutil.copy(SITES / "phpmyadmin" / "config.php", run)
    (run / "tmp").mkdir()
    settings = public / "libraries" / "vendor_config.php"
    text = settings.read_text().replace("/etc/phpmyadmin/config.inc.php", str(run / "config.php"))
    settings.write_text(text.replace("/var/lib/phpmyadmin/tmp/", f"{run}/tmp/"))
    return {"BENCH_DOCROOT": str(public)}


INSTALLED = {"MediaWiki": mediawiki_in, "DokuWiki": dokuwiki_in, "phpMyAdmin": phpmyadmin_in, "WordPress": wordpress_in}


@contextmanager
def applications(core: int) -> Iterator[dict[str, dict[str, str]]]:
    """All of INSTALLED, as their packages ship them, on one MariaDB: what is told to a server of each."""
    with backends.mariadb(core), backends.upstream(core), backends.directory("applications") as run:
        told = {}
        for name, install in INSTALLED.items():
            (run / name).mkdir()
            told[name] = install(run / name)
        yield told


@contextmanager
def wordpress(core: int) -> Iterator[None]:
    """WordPress as its package ships it, with one post and one plugin, on MariaDB. ?ms=500 in a page's address makes it ask the
    upstream for an answer that takes this long. MariaDB and the upstream run on `core`."""
    with backends.mariadb(core), backends.upstream(core), backends.directory("wordpress") as run:
        with backends.told(**wordpress_in(run)):
            yield


@contextmanager
def symfony() -> Iterator[None]:
    """bench/sites/symfony with its own cache."""
    need(SYMFONY)
    with backends.directory("symfony") as run:
        shutil.copytree(SITES / "symfony", run, dirs_exist_ok=True)
        with backends.told(BENCH_DOCROOT=str(run / "public")):
            yield
