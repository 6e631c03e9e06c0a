"""A step-time profile: what was measured, where, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_detectors.payoff.linear_steps import LinearSteps
from specwatch_detectors.payoff.measured_steps import MeasuredSteps, Timed
from specwatch_detectors.payoff.step_cost import Basis, Cost, Load, Unknown
from specwatch_exporters.method_name import same_method


@dataclass(frozen=True, slots=True)
class StepProfile:
    """Step times of one target on one kind of hardware, for some methods.

    Attributes:
        name: short, for labels and options.
        label: how it was measured, for whoever reads a number made with it.
        target: the model.
        hardware: what one engine ran on.
        gpus: of one engine.
        engine: name and version.
        source: where the numbers come from.
        context_tokens: mean context per request in the run.
        prefill_seconds_per_token: time that one prompt token adds to a step, where `steps` has no curve of it; 0
            if not measured.
        prompt_per_output: prompt tokens per output token of the run's own traffic, or None.
        steps: the step times.
    """

    name: str
    label: str
    target: str
    hardware: str
    gpus: int
    engine: str
    source: str
    context_tokens: float
    steps: MeasuredSteps | LinearSteps
    prefill_seconds_per_token: float = 0.0
    prompt_per_output: float | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods with step times, sorted."""
        known = self.steps.methods if isinstance(self.steps, MeasuredSteps) else self.steps.drafters
        return tuple(sorted(known))

    def cost_of(self, method: str) -> ProfileCost:
        """The costs of one method, however its name is spelled (`p-eagle`, `peagle`).

        A method that the profile lacks is answered when it is asked.
        """
        return ProfileCost(self, same_method(method, self.methods) or method)


@dataclass(frozen=True, slots=True)
class ProfileCost:
    """Costs of one method by a profile. See `StepCost`."""

    profile: StepProfile
    method: str

    @property
    def name(self) -> str:
        """The profile's name."""
        return self.profile.name

    @property
    def basis(self) -> Basis:
        """Measured; none for a method that the profile lacks."""
        return Basis.MEASURED if self.method in self.profile.methods else Basis.NONE

    @property
    def gpus(self) -> int:
        """GPUs of one engine in the run."""
        return self.profile.gpus

    def at(self, load: Load) -> Cost | Unknown:
        """The cost under a load."""
        steps = self.profile.steps
        with_drafts, plain = steps.speculating(self.method, load), steps.plain(load)
        if isinstance(with_drafts, Unknown):
            return with_drafts
        if isinstance(plain, Unknown):
            return plain
        idle = steps.idle(self.method, load)
        plain_prefill, spec_prefill = self._prefill(load)
        batch = max(1.0, load.batch)
        return Cost(
            ratio=with_drafts.seconds / plain.seconds,
            relative_error=with_drafts.relative_error,
            spec_seconds=with_drafts.seconds,
            plain_seconds=plain.seconds,
            prefill_share=batch * plain_prefill / plain.seconds,
            spec_prefill_share=None if spec_prefill is None else batch * spec_prefill / plain.seconds,
            idle_ratio=idle.seconds / plain.seconds if isinstance(idle, Timed) else None,
            caveats=tuple(dict.fromkeys((*with_drafts.caveats, *plain.caveats))),
        )

    def _prefill(self, load: Load) -> tuple[float, float | None]:
        """Seconds per prompt token, in a plain step and in one with speculation."""
        steps = self.profile.steps
        found = steps.prefill(self.method, load) if isinstance(steps, MeasuredSteps) else None
        return (self.profile.prefill_seconds_per_token, None) if found is None else found
