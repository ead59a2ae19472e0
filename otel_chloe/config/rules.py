"""The rules as plain values: what is expected of which agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, get_args

from otel_chloe.config.settings import Settings
from otel_chloe.errors import ConfigError
from otel_chloe.expected import ExpectedCalls, ExpectedOutcome
from otel_chloe.inside import Inside, added_calls, added_outcome
from otel_chloe.run import Run

if TYPE_CHECKING:
    from otel_chloe.kit import AnyScorer, JudgeScorer  # whoever has no scorers of their own does not pay for it

Severity: TypeAlias = Literal["page", "ticket", "none"]
"""How much a broken rule matters: a label on metrics, for alerts. ``none`` is a rule on trial."""

SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
BUILT_IN: Final = frozenset({"calls", "expectations"})
"""The names of the scores that the rules themselves give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRules:
    """The model that judges, and what it may cost.

    ``model`` is a name that litellm or the maker of the model knows. ``timeout_s`` is for one call, ``concurrency``
    the calls at one time; the two amounts are hard stops in US dollars, for each process. What a million tokens cost
    is known for most models; where both prices are given, they count instead.
    """

    model: str | None = None
    timeout_s: float = 30.0
    concurrency: int = 8
    usd_per_hour: float = 1.0
    usd_per_day: float = 10.0
    usd_per_million_input: float | None = None
    usd_per_million_output: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What a model is to judge of a run.

    ``threshold`` is the share of lines that passes, inclusive; ``min_decided`` the share of lines that must have been
    decided to pass; ``sample`` the share of runs that are judged. All are from 0 to 1. ``model`` is the judge's, and
    is set wherever there are lines.
    """

    outcome: ExpectedOutcome = field(default_factory=ExpectedOutcome)
    threshold: float = 0.8
    min_decided: float = 1.0
    sample: float = 1.0
    model: str | None = None

    @property
    def has_lines(self) -> bool:
        """Whether there is anything to judge."""
        return bool(self.outcome.should or self.outcome.should_not)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerRule:
    """A scorer of the user's own under the rules.

    ``scorer`` has the rule's own threshold already. ``sample`` is the share of runs that it scores, from 0 to 1;
    ``severity`` its own, where it is not its agent's.

    Raises :class:`~otel_chloe.errors.ConfigError` where the scorer has the name of a score of the rules' own.
    """

    scorer: AnyScorer
    sample: float = 1.0
    severity: Severity | None = None

    def __post_init__(self) -> None:
        if self.scorer.name in BUILT_IN:
            raise ConfigError(
                f"scorer {self.scorer.name}: the rules themselves give a score of this name. Give it another."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRules:
    """What is expected of one agent, or (``agent`` is ``*``) of every agent. None: no rule of that kind.

    ``scorers`` are the user's own, each once by its name. ``where`` has attributes that a run must have for these
    rules to hold. ``digests`` maps the name of a built-in scorer to a hash of all that its mark depends on here.
    """

    agent: str
    purpose: str | None = None
    calls: ExpectedCalls | None = None
    expectations: Expectations | None = None
    severity: Severity | None = None
    scorers: tuple[ScorerRule, ...] = ()
    where: Mapping[str, object] | None = None
    digests: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        digests: dict[str, str] = {}
        if self.calls is not None:
            digests["calls"] = _digest_of_calls(self.calls)
        if self.expectations is not None:
            digests["expectations"] = _digest_of_expectations(self.expectations, self.purpose)
        object.__setattr__(self, "digests", digests)

    def holds_for(self, run: Run) -> bool:
        """Whether the run has all attributes that ``where`` names, on its own span or its resource."""
        if self.where is None:
            return True
        held = [_mapping(run.attributes), _mapping(getattr(run.resource, "attributes", run.resource))]
        return all(any(_equal(each.get(key), value) for each in held) for key, value in self.where.items())

    def undecided(self) -> AgentRules:
        """What stands for these rules until it is known whether they hold: their names alone."""
        made = replace(self, calls=None, expectations=None, scorers=())
        object.__setattr__(made, "digests", self.digests)
        return made


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _equal(said: object, value: object) -> bool:
    return said == value and isinstance(said, bool) is isinstance(value, bool)


def _digest_of_calls(expected: ExpectedCalls) -> str:
    """A hash that the order of the names does not change, as it does not change the score."""
    lists = [sorted(names) for names in (expected.must_call, expected.must_not_call, expected.at_most_once)]
    return digest(lists, expected.count, expected.per)


def _digest_of_expectations(expected: Expectations, purpose: str | None) -> str:
    """A hash of what the judge is asked and how its answer is weighed. How many runs are judged changes no mark."""
    return digest(purpose, asdict(expected.outcome), expected.threshold, expected.min_decided, expected.model)


def with_inside(rules: AgentRules | None, inside: Inside, *, agent: str | None, model: str | None) -> AgentRules | None:
    """The rules with what the program expects of this run alone. Nothing of them is relaxed.

    ``model`` judges lines where the rules name no other.
    """
    if inside.calls is None and inside.outcome is None:
        return rules
    held = rules or AgentRules(agent=agent or "*")
    expectations = held.expectations
    if inside.outcome is not None:
        base = expectations or Expectations()
        expectations = replace(
            base, outcome=added_outcome(base.outcome, inside.outcome) or base.outcome, model=base.model or model
        )
    return replace(held, calls=added_calls(held.calls, inside.calls), expectations=expectations)


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file that rules were read from.

    ``path`` is absolute; ``state`` what :func:`~otel_chloe.config.changes.state_of` said of it just before.
    """

    path: str
    state: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules, as :func:`~otel_chloe.config.load_rules` makes them; it is the way to make one.

    ``everyone`` holds for every top-level run. ``alone`` are the entries of named agents as they were written, for
    their sub-runs; ``joined`` the same with ``everyone`` added, for their top-level runs. ``given`` are scorers that
    hold whatever ``where`` says. ``source`` names the file, ``file`` says what it was like when it was read.
    """

    everyone: AgentRules | None = None
    alone: Mapping[str, AgentRules] = field(default_factory=dict[str, AgentRules])
    joined: Mapping[str, AgentRules] = field(default_factory=dict[str, AgentRules])
    judge: JudgeRules = field(default_factory=JudgeRules)
    settings: Settings = field(default_factory=Settings)
    given: tuple[ScorerRule, ...] = ()
    source: str | None = None
    file: FileRead | None = field(default=None, repr=False, compare=False)
    _undecided: Mapping[str, AgentRules] = field(init=False, repr=False, compare=False)
    """By agent what stands for rules that only some runs have; ``*`` for those of every other agent."""

    def __post_init__(self) -> None:
        held: dict[str, AgentRules] = {}
        if self.everyone is not None and self.everyone.where is not None:
            held = {"*": self.everyone.undecided()}
        for name, rules in self.joined.items():
            if held or self.alone[name].where is not None:
                held[name] = rules.undecided()
        object.__setattr__(self, "_undecided", held)

    def named(self, agent: str | None) -> AgentRules | None:
        """The entry of exactly this agent, as written: what holds for its sub-runs.

        Where it has ``where``, only :meth:`of_sub_run` tells; here its names alone stand.
        """
        found = None if agent is None else self.alone.get(agent)
        return found if found is None or found.where is None else found.undecided()

    def of_sub_run(self, run: Run) -> AgentRules | None:
        """What holds for this sub-run: its agent's own entry."""
        found = None if run.agent is None else self.alone.get(run.agent)
        return found if found is not None and found.holds_for(run) else None

    def of_run(self, run: Run) -> AgentRules | None:
        """What holds for this top-level run: the rules for everyone and its agent's, each where its ``where`` holds."""
        if not self._undecided:
            return self.for_run(run.agent)
        own = self.of_sub_run(run)
        if self.everyone is not None and self.everyone.holds_for(run):
            return self.everyone if own is None else self.joined[own.agent]
        return _with_scorers(own or AgentRules(agent="*"), self.given) if self.given else own

    def with_scorers(self, scorers: tuple[ScorerRule, ...]) -> Rules:
        """These rules and, for every top-level run, these scorers; of two with one name the rules' own stays."""
        if not scorers:
            return self
        everyone = _with_scorers(self.everyone or AgentRules(agent="*"), scorers)
        joined = {name: _with_scorers(rules, scorers) for name, rules in self.joined.items()}
        return replace(self, everyone=everyone, joined=joined, given=(*self.given, *scorers))

    def for_run(self, agent: str | None) -> AgentRules | None:
        """What holds for a top-level run of this agent: the rules for everyone and its own.

        Where one of the two has ``where``, only :meth:`of_run` tells; here their names alone stand.
        """
        if self._undecided:
            found = self._undecided.get(agent if agent is not None and agent in self.joined else "*")
            if found is not None:
                return found
        return self.everyone if agent is None else self.joined.get(agent, self.everyone)

    @property
    def expectations(self) -> list[Expectations]:
        """Everything that a model is to judge, of whatever agent."""
        held = [self.everyone, *self.alone.values(), *self.joined.values()]
        return [each.expectations for each in held if each and each.expectations and each.expectations.has_lines]

    @property
    def judged(self) -> bool:
        """Whether a model is to judge anything."""
        return bool(self.expectations)

    @property
    def scorers(self) -> tuple[ScorerRule, ...]:
        """The user's own scorers, of whatever agent."""
        held = [self.everyone, *self.alone.values(), *self.joined.values()]
        return tuple(dict.fromkeys(rule for each in held if each for rule in each.scorers))

    @property
    def own_judges(self) -> tuple[JudgeScorer, ...]:
        """Those of the user's own scorers that a model is."""
        return tuple(cast("JudgeScorer", each.scorer) for each in self.scorers if hasattr(each.scorer, "model"))

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that have an entry of their own, in the order of the file."""
        return tuple(self.alone)

    @property
    def digest(self) -> str:
        """A hash of everything that marks depend on; the settings are not part of it."""
        everyone = _digests(self.everyone) if self.everyone else None
        return digest(everyone, {name: _digests(rules) for name, rules in self.alone.items()})


def joined_scorers(base: tuple[ScorerRule, ...], own: tuple[ScorerRule, ...]) -> tuple[ScorerRule, ...]:
    """Both, each scorer once by its name: of two with one name, that of ``own``."""
    mine = {each.scorer.name: each for each in own}
    return (*(mine.pop(each.scorer.name, each) for each in base), *mine.values())


def _with_scorers(rules: AgentRules, scorers: tuple[ScorerRule, ...]) -> AgentRules:
    there = {each.scorer.name for each in rules.scorers}
    return replace(rules, scorers=(*rules.scorers, *(each for each in scorers if each.scorer.name not in there)))


def _digests(rules: AgentRules) -> list[object]:
    own = [[each.scorer.key, each.scorer.version, each.sample, each.severity] for each in rules.scorers]
    said: list[object] = [dict(rules.digests), rules.severity, own]
    return said if rules.where is None else [*said, dict(rules.where)]


def digest(*values: object) -> str:
    """A hash of plain values, 32 hex digits, the same in every process."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=True)
    import hashlib  # not for those who have no rules: it loads OpenSSL

    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
