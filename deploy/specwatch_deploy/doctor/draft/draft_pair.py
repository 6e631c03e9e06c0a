"""What every check looks at: a draft, its target, and what an engine is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_deploy.doctor.draft.description import Draft, Target
from specwatch_deploy.doctor.draft.json_file import key_line
from specwatch_deploy.doctor.draft.model_folder import ModelFolder
from specwatch_deploy.doctor.draft.spec_request import SpecRequest
from specwatch_deploy.doctor.finding import Place


@dataclass(frozen=True, slots=True)
class DraftPair:
    """The three together.

    Attributes:
        draft: the draft.
        target: the target.
        request: what the engine is asked for; None if nothing was given.
        target_name: name of the target, if the user gave it; empty otherwise.
    """

    draft: Draft
    target: Target
    request: SpecRequest | None = None
    target_name: str = ""

    @property
    def in_one_folder(self) -> bool:
        """Whether the draft is the target's own MTP layers."""
        return self.draft.folder.path.resolve() == self.target.folder.path.resolve()


def config_place(folder: ModelFolder, key: str) -> Place:
    """The line of a key in a folder's configuration."""
    return Place(str(folder.config_file), key_line(folder.config_file, key), key)
