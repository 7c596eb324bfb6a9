"""The secrets of an inventory, drawn at random when they are first required: WEP keys and the certificates of 802.1X.

They are in $XDG_STATE_HOME/airtoll/secrets, by default ~/.local/state, in a folder that only the user can read. They
have no relation to the passphrase of the inventory, so an attacker who breaks WEP learns nothing about the passphrase.
"""

import os
import secrets
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp
from typing import Final

from airtoll.durable import reporting
from airtoll.errors import AirtollError, UsageError
from airtoll.host import last_words
from airtoll.labs.journal import check_own, folder

_MAKE: Final = Path(__file__).with_name("certificates") / "make.sh"
_TIMEOUT_S: Final = 60.0
# A host may not know the time: many cards without a clock begin at a date of their firmware.
_FROM: Final = "20200101000000Z"
_UNTIL: Final = "20500101000000Z"


def wep_key(inventory: Path, octets: int) -> str:
    """The WEP key of the inventory with this number of octets, in hexadecimal digits.

    Raises UsageError if another user can access the folder, AirtollError if the file cannot be read or written.
    """
    file = folder(inventory, "secrets") / f"wep-{8 * octets}"
    with reporting(str(file)):
        _own(file.parent)
        if not file.exists():
            with NamedTemporaryFile("w", encoding="ascii", dir=file.parent) as new:  # with mode 0600
                new.write(f"{secrets.token_hex(octets)}\n")
                new.flush()
                with suppress(FileExistsError):  # another airtoll has drawn a key
                    os.link(new.name, file)
        return file.read_text(encoding="ascii", errors="replace").strip()


def certificates(inventory: Path) -> Path:
    """The folder of the inventory's CA and certificates (`enterprise.files`), whether they exist or not."""
    return folder(inventory, "secrets") / "certificates"


def make_certificates(inventory: Path) -> None:
    """Make the CA and the certificates unless they exist. The key of the CA is not kept.

    Raises UsageError without the command openssl or if another user can access the folder, AirtollError if the command
    fails or if the files cannot be written.
    """
    made = certificates(inventory)
    with reporting(str(made)):
        _own(made.parent)
    if made.exists():
        return
    if shutil.which("openssl") is None:
        raise UsageError("lab hosts with 802.1X requires the command 'openssl': apt-get install openssl")
    with reporting(str(made)):
        new = Path(mkdtemp(dir=made.parent))  # with mode 0700
        try:
            done = subprocess.run(
                ["sh", str(_MAKE), str(new), _FROM, _UNTIL],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_TIMEOUT_S,
            )
            if done.returncode != 0:
                raise AirtollError(f"openssl: the certificates of 802.1X: {last_words(done.stderr)}")
            with suppress(FileExistsError):
                new.rename(made)
        except subprocess.TimeoutExpired:
            raise AirtollError(f"openssl: no certificates within {_TIMEOUT_S:.0f} s") from None
        finally:
            shutil.rmtree(new, ignore_errors=True)


def _own(folder: Path) -> None:
    """Create the folder of the secrets unless it exists. Raises UsageError if another user can access it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_own(folder, "the secrets")
