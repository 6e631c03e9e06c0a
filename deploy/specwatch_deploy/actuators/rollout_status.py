"""How far a Deployment's rollout is, by the rules of `kubectl rollout status`."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_deploy.actuators.cluster import Json


@dataclass(frozen=True, slots=True)
class RolloutStatus:
    """The rollout.

    Attributes:
        done: every pod is of the last generation and available.
        failed: it made no progress for the Deployment's progressDeadlineSeconds.
        words: for a person; empty when done.
    """

    done: bool
    failed: bool
    words: str


def rollout_status(deployment: Json) -> RolloutStatus:
    """Read it; a status of an earlier generation says nothing."""
    status = deployment.get("status") or {}
    if int(status.get("observedGeneration", 0)) < int(deployment["metadata"].get("generation", 0)):
        return RolloutStatus(done=False, failed=False, words="the last change has not been looked at yet")
    progressing = [one for one in status.get("conditions") or [] if one.get("type") == "Progressing"]
    if any(one.get("reason") == "ProgressDeadlineExceeded" for one in progressing):
        limit = deployment["spec"].get("progressDeadlineSeconds", 600)
        words = f"no progress for {limit} s (ProgressDeadlineExceeded): {_counts(deployment)}"
        return RolloutStatus(done=False, failed=True, words=words)
    wanted = int(deployment["spec"].get("replicas", 1))
    updated, available = int(status.get("updatedReplicas", 0)), int(status.get("availableReplicas", 0))
    done = updated >= wanted and int(status.get("replicas", 0)) <= updated and available >= updated
    return RolloutStatus(done=done, failed=False, words="" if done else _counts(deployment))


def _counts(deployment: Json) -> str:
    status = deployment.get("status") or {}
    wanted = int(deployment["spec"].get("replicas", 1))
    updated, available = int(status.get("updatedReplicas", 0)), int(status.get("availableReplicas", 0))
    old = int(status.get("replicas", 0)) - updated
    return f"{updated} of {wanted} pods updated, {available} available" + (
        f", {old} old ones left" if old > 0 else ""
    )
