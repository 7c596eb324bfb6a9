"""Settings of the link, which are the same in every run of a study, or in every run of some cells.

A missing key keeps the lab's own value, which the run's record contains.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from airtoll.study.claims import Where
from airtoll.study.contract import model_of
from airtoll.study.security import SecurityProfile
from airtoll.study.values import Title, tables

_CONFIG: Final = ConfigDict(defer_build=True, frozen=True, extra="forbid")
"""By name, because mypy's plugin for pydantic would refuse keys that it does not know if it saw `extra`."""


class Settings(BaseModel):
    """Keys that Rust declares (`airtoll.study.contract`).

    Only the running program knows them: for static checks, every name is an attribute of any type, and an argument of
    the constructor.
    """

    model_config = _CONFIG

    if TYPE_CHECKING:

        def __getattr__(self, key: str) -> Any: ...

    def given(self) -> dict[str, Any]:
        """The keys that are set, with their values."""
        return self.model_dump(exclude_none=True)


if TYPE_CHECKING:

    class _Stack(Settings): ...

    class _Link(Settings): ...

else:
    _Stack = model_of("_Stack", Settings, "real hosts", "hosts")
    _Link = model_of("_Link", Settings, "real hosts", "hosts", "medium")


class Stack(_Stack):
    """Settings that reproduce another system's TCP/IP stack. Missing keys are as in [link]."""

    system: Title = Field(description="The system that the settings reproduce, in words.")


class LinkWhere(_Link):
    """Settings of the link in some cells. Missing keys are as in [link]."""

    levels: Where = Field(description="The cells: one level of each named factor.")


class LinkSettings(_Link):
    """Settings of the link, the same in every run except those of the tables `where`."""

    where: Annotated[tuple[LinkWhere, ...], tables("link.where")] = Field(
        default=(), description="Tables with other settings for some cells."
    )

    def given(self) -> dict[str, Any]:
        """The keys that are set in every cell, with their values."""
        return self.model_dump(exclude_none=True, exclude={"where"})

    def at(self, levels: Mapping[str, Any]) -> "LinkSettings":
        """The settings in a cell with these levels. A later table replaces an earlier one."""
        return self.model_copy(
            update={"where": ()}
            | {
                key: value
                for each in self.where
                if each.levels.agrees(levels)
                for key, value in each.given().items()
                if key != "levels"
            }
        )

    def with_stack(self, stack: Stack | None) -> "LinkSettings":
        """The settings, with those of a stack in their place."""
        return (
            self
            if stack is None
            else self.model_copy(update=stack.model_dump(exclude_none=True, exclude={"system"}))
        )

    def with_profile(self, profile: SecurityProfile) -> "LinkSettings":
        """The settings, with those of a security profile in their place."""
        return self.model_copy(update=profile.of_link())
