"""Places of labgrid as hosts: a target of an environment file says how SSH reaches a machine.

labgrid reads the file. If the target is a place of a coordinator (`RemotePlace`), labgrid asks the coordinator, and the
user must have acquired the place.
"""

from pathlib import Path

from airtoll import extras
from airtoll.errors import UsageError


def ssh_destination(environment: Path, place: str) -> tuple[str, list[str]]:
    """The destination and the options of ssh(1) for a target with the resource NetworkService.

    Raises UsageError if labgrid is missing, or if the file has no target of this name with that resource.
    """
    labgrid = extras.require("labgrid", "the key place of a host")
    where = f"{environment}: place {place!r}"
    try:
        target = labgrid.Environment(str(environment)).get_target(place)
        if target is None:
            raise UsageError(f"{where}: the file has no target of this name")
        service = target.get_resource("NetworkService")
        drivers = [driver for driver in target.drivers if type(driver).__name__ == "SSHDriver"]
    except UsageError:
        raise
    except Exception as error:  # labgrid's errors have no common class
        words = " ".join(str(getattr(error, "msg", error)).split())
        raise UsageError(f"{where}: {words or type(error).__name__}") from None
    user = next((driver.username for driver in drivers if driver.username), service.username)
    if service.password or any(driver.password for driver in drivers):
        raise UsageError(f"{where}: has a password, and airtoll requires a key of SSH")
    key = next((driver.keyfile for driver in drivers if driver.keyfile), None)
    options = [] if key is None else ["-i", target.env.config.resolve_path(key)]
    return f"{user}@{service.address}", ["-p", str(service.port), *options]
