"""What can be told without a provider: the rules, the judge, the sampling, and what runs have shown."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from otel_chloe.config import Rules
from otel_chloe.config.unseen import never_seen
from otel_chloe.gaps import MAY_HIDE_CALLS
from otel_chloe.pipeline.glance import Glance

from .findings import Finding

KEYS: Final[Mapping[str, str]] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "claude": "ANTHROPIC_API_KEY",
    "azure": "AZURE_API_KEY",
    "cohere": "COHERE_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "gpt": "OPENAI_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "together_ai": "TOGETHERAI_API_KEY",
    "xai": "XAI_API_KEY",
}
"""The variable of the key that a model's provider asks for, by how its id begins."""


def rules_found(rules: Rules) -> Iterator[Finding]:
    """What the rules are."""
    source = rules.source or "rules of the program"
    if rules.everyone is None and not rules.alone:
        yield Finding("wrong", "rules", "none: runs are counted, and nothing is scored", _WRITE_RULES)
        return
    agents = ", ".join(rules.agents) or "none by name"
    everyone = ", and rules for every agent" if rules.everyone is not None else ""
    yield Finding("ok", "rules", f"{source}: agents {agents}{everyone}")


def scorers_found(rules: Rules, slow: Iterable[str]) -> Iterator[Finding]:
    """The program's own scorers, and which of them were too slow for the agent's span."""
    names = dict.fromkeys(each.scorer.name for each in rules.scorers)
    if names:
        yield Finding("ok", "scorers", ", ".join(names))
    for name in slow:
        told = f"{name} took more than 5 ms: it is asked after the run, and its mark is not on the agent's span"
        yield Finding("note", "scorers", told, "Make it quicker, or hold the span: docs/marks.md.")


_WRITE_RULES: Final = "Give attach() a rules file, or name one in OTEL_CHLOE_RULES."


def judge_found(rules: Rules, *, own: bool = False) -> Iterator[Finding]:
    """Whether the models that the rules name can be asked. No model is asked for it."""
    models = models_asked(rules)
    if not models:
        yield Finding("ok", "judge", "no lines to judge")
        return
    if own:
        yield Finding("ok", "judge", f"{', '.join(models)}, through a function of the program")
        return
    if importlib.util.find_spec("litellm") is None:
        yield Finding("wrong", "judge", "litellm is not installed", "Install it, or give complete=.")
        return
    for model in models:
        key = key_of(model)
        if key is None:
            yield Finding("note", "judge", f"{model}: which key it needs is not known here")
        elif os.environ.get(key):
            yield Finding("ok", "judge", f"{model}, by the key in {key}")
        else:
            yield Finding("wrong", "judge", f"{model}: {key} is not set", f"Set {key}, or give complete=.")


def models_asked(rules: Rules) -> list[str]:
    """The models that rules have asked, but those that a scorer asks in its own way."""
    asked = {each.model for each in rules.expectations if each.model} | {rules.judge.model or ""}
    return sorted((asked | {each.model for each in rules.own_judges if each.complete is None}) - {""})


def key_of(model: str) -> str | None:
    """The variable of the key that a model wants, where it is known."""
    return next((key for begins, key in KEYS.items() if model.startswith(begins)), None)


def sampling_found(name: str, share: float | None) -> Finding:
    """What a sampler makes of the runs that start here; ``share`` is that of the traces that it keeps, None for all."""
    if share is None or share >= 1:
        return Finding("ok", "sampling", f"{name} hides none of the runs that start here")
    hidden = f"{name} hides {1 - share:.0%} of all traces: runs in them are not scored, and not counted"
    return Finding("warn", "sampling", hidden, "Sample in the collector instead (tail sampling), which sees the marks.")


def seen_found(rules: Rules, runs: Iterable[Glance], *, live: bool = False) -> Iterator[Finding]:
    """What the runs have shown, against what the rules name.

    Recordings are there to try rules by. Of live runs it is well that none has called a forbidden tool.
    """
    known = list(runs)
    where = "scored so far" if live else "recorded"
    if not known:
        yield Finding("warn", "runs", f"none {where}", _NO_RUNS)
        return
    agents = frozenset[str]().union(*(run.agents for run in known))
    tools = frozenset[str]().union(*(run.tools for run in known))
    yield Finding("ok", "runs", f"{len(known)} {where}, of {', '.join(sorted(agents)) or 'agents without a name'}")
    if tools:
        yield Finding("ok", "tools", _names(tools))
    for unseen in never_seen(rules, agents, tools):
        is_well = live and unseen.is_called_rightly_never and not unseen.near
        fix = f"Write {unseen.near}, if that is meant." if unseen.near else _AS_THE_SPANS
        yield Finding("note" if is_well else "warn", "never seen", str(unseen), fix)
    for code, count in Counter(code for run in known for code in run.gaps).most_common():
        hides = code in MAY_HIDE_CALLS
        fix = "docs/what-counts.md says what closes it."
        yield Finding("warn" if hides else "note", "gap", f"{code} in {count} of {len(known)} runs", fix)


def _names(names: Collection[str]) -> str:
    shown = sorted(names)[:_SHOWN_NAMES]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more else "")


_SHOWN_NAMES: Final = 20
_AS_THE_SPANS: Final = "Write the name as the spans say it, as it stands above; otel-chloe runs shows it with its runs."
_NO_RUNS: Final = "Let the agent run once; if none comes even then, its instrumentation makes no spans of agents here."
