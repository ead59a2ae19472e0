"""What each command takes, and its help. Nothing heavy is imported here."""

from __future__ import annotations

import math
from argparse import SUPPRESS, Action, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import Any, Final, NoReturn


class _Parser(ArgumentParser):
    """Takes options by their whole names only, so that a later one breaks no script."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False, **given)


_ABOUT: Final = """\
Rebuild the runs of AI agents from recorded OpenTelemetry spans, and score them.
"""

_EXAMPLES: Final = """\
examples:
  otel-chloe runs spans.otlp.jsonl
  otel-chloe score spans.otlp.jsonl --rules rules.yaml
  otel-chloe check rules.yaml spans.otlp.jsonl

otel-chloe COMMAND --help says more of each.
"""

_INPUT: Final = """\
Every FILE is a recording: OTLP/JSON (one request a line, or one document),
OTLP protobuf (length-prefixed), or a Jaeger or Tempo JSON export; plain or with
gzip; - is standard input. Each stands for itself, unless --together.
"""

_RUNS: Final = f"""\
Print the runs of recordings: prompt, tool calls in order, sub-agents, output,
and what is missing.

{_INPUT}"""

_RUNS_EXAMPLES: Final = """\
examples:
  otel-chloe runs spans.otlp.jsonl
  otel-chloe runs agent.jsonl.gz mcp-server.jsonl.gz --together
  otel-chloe runs spans.otlp.jsonl --explain
  kubectl logs collector | otel-chloe runs - --format json | jq .output

exit codes:
  0  all was read
  2  bad input; the good lines are printed all the same
"""

_SCORE: Final = f"""\
Score the runs of recordings by the rules of a file.

{_INPUT}"""

_SCORE_EXAMPLES: Final = """\
examples:
  otel-chloe score spans.otlp.jsonl --rules rules.yaml
  otel-chloe score spans.otlp.jsonl --rules rules.yaml --fail-under 0.9
  otel-chloe score spans.otlp.jsonl --rules rules.yaml --complete my_llm:ask
  otel-chloe score nightly/*.jsonl.gz --rules rules.yaml --format json --strict

The text ends with a line for each scorer and agent. Only scored runs enter the
mean.

exit codes:
  0  nothing failed
  1  a mark has not passed, or a scorer failed;
     with --fail-under: a scorer's mean is under X (not of those of whose
     scores a lower one is better), or a scorer failed;
     with --strict: a mark is unscored or pending, too
  2  bad input or bad rules
"""

_CHECK: Final = """\
Print the rules as they hold for each agent; with recordings, also every tool
and agent that the rules name and the recordings never show. A mistyped name in
mustNotCall passes for ever.
"""

_CHECK_EXAMPLES: Final = """\
examples:
  otel-chloe check rules.yaml
  otel-chloe check rules.yaml spans.otlp.jsonl

exit codes:
  0  all is well
  1  the rules name a tool or an agent that the recordings never show
  2  bad rules or bad input
"""

_SCHEMA: Final = """\
Print the JSON Schema of the rules file, by which an editor completes keys and
underlines mistakes.
"""

_SCHEMA_EXAMPLES: Final = """\
examples:
  otel-chloe schema > rules.schema.json
  then, as the first line of rules.yaml:
  # yaml-language-server: $schema=rules.schema.json
"""

_DOCTOR: Final = """\
Look at the environment, the rules, the judge and recordings, and say what to fix
first. What a program has attached, its own attachment.doctor() tells.
"""

_DOCTOR_EXAMPLES: Final = """\
examples:
  otel-chloe doctor
  otel-chloe doctor --rules rules.yaml spans.otlp.jsonl
  otel-chloe doctor --rules rules.yaml --judge

exit codes:
  0  nothing to fix
  1  something to fix
  2  bad rules or bad input
"""


_PENDING: Final = f"""\
List the scores that recordings wait for (DeferredScore), as their evaluation
spans or events tell. Those that a later one resolved are left out.

{_INPUT}"""

_PENDING_EXAMPLES: Final = """\
examples:
  otel-chloe pending spans.otlp.jsonl
  otel-chloe pending spans.otlp.jsonl --format csv > scores.csv
  (write the scores into it)
  otel-chloe resolve --from scores.csv --otlp http://localhost:4318

exit codes:
  0  all was read
  2  bad input; what was read is printed all the same
"""

_RESOLVE: Final = """\
Give runs their final scores, by a person or another system: each goes into the
run's trace as evaluation span, event and metric. It resolves what is pending, and
a run that waits for nothing takes it too.
"""

_RESOLVE_EXAMPLES: Final = """\
examples:
  otel-chloe resolve --trace-id 0af7651916cd43dd8448eb211c80319c \\
    --span-id b7ad6b7169203331 --name helpful --score 0.8 --reason "Kind." \\
    --recording spans.otlp.jsonl --otlp http://localhost:4318
  otel-chloe resolve --from scores.csv --otlp http://localhost:4318

A score is true, false, a number, or a label. FILE is CSV with the columns
trace_id, span_id, name, score (and reason, agent, id, key, version, revision), or
JSON lines with these keys, as `otel-chloe pending` prints them. Rows without a
score are left out.

exit codes:
  0  all were sent
  1  the receiver did not take some
  2  bad input; the good rows are sent all the same
"""


def parser() -> ArgumentParser:
    """The whole command line."""
    top = _Parser(prog="otel-chloe", description=_ABOUT, epilog=_EXAMPLES)
    top.add_argument("--version", action=_Version, help="print the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=_Parser)
    _runs(commands.add_parser("runs", help="print the runs of recordings", description=_RUNS, epilog=_RUNS_EXAMPLES))
    _score(commands.add_parser("score", help="score the runs by rules", description=_SCORE, epilog=_SCORE_EXAMPLES))
    _check(commands.add_parser("check", help="check the rules", description=_CHECK, epilog=_CHECK_EXAMPLES))
    commands.add_parser("schema", help="print the schema of rules", description=_SCHEMA, epilog=_SCHEMA_EXAMPLES)
    _pending(
        commands.add_parser("pending", help="list scores to be given", description=_PENDING, epilog=_PENDING_EXAMPLES)
    )
    _resolve(commands.add_parser("resolve", help="give final scores", description=_RESOLVE, epilog=_RESOLVE_EXAMPLES))
    _doctor(commands.add_parser("doctor", help="say what to fix first", description=_DOCTOR, epilog=_DOCTOR_EXAMPLES))
    return top


def _runs(command: ArgumentParser) -> None:
    _reading(command)
    command.add_argument(
        "--explain", action="store_true", help="say of which spans and messages each call was made, and why"
    )


def _score(command: ArgumentParser) -> None:
    _reading(command)
    command.add_argument("--rules", metavar="FILE", required=True, help="the rules, YAML or JSON")
    command.add_argument(
        "--no-judge", action="store_true", help='ask no model: what a judge scores is unscored, "judge off"'
    )
    command.add_argument(
        "--complete",
        metavar="MODULE:FUNCTION",
        help="ask the judge's model through your own complete(model, messages), sync or async",
    )
    command.add_argument(
        "--fail-under", metavar="X", type=_finite, help="exit 1 if a scorer's mean is under X, and not for single marks"
    )
    command.add_argument("--strict", action="store_true", help="exit 1 for runs that are unscored or pending, too")


def _check(command: ArgumentParser) -> None:
    command.add_argument("rules", metavar="RULES", help="the rules, YAML or JSON")
    command.add_argument("files", metavar="FILE", nargs="*", help="a recording; - is standard input")


def _pending(command: ArgumentParser) -> None:
    command.add_argument("files", metavar="FILE", nargs="+", help="a recording; - is standard input")
    command.add_argument(
        "--format", choices=("text", "json", "csv"), default="text", help="text (default), JSON lines, or CSV"
    )


def _resolve(command: ArgumentParser) -> None:
    command.add_argument("--trace-id", metavar="T", help="the run's trace, 32 hex digits")
    command.add_argument("--span-id", metavar="S", help="the agent span that the score stands on, 16 hex digits")
    command.add_argument("--name", metavar="N", help="the score's name")
    command.add_argument("--score", metavar="X", help="true, false, a number, or a label")
    command.add_argument("--reason", metavar="R", help="why")
    command.add_argument(
        "--from", metavar="FILE", dest="file", help="many scores: CSV or JSON lines; - is standard input"
    )
    command.add_argument("--otlp", metavar="URL", help="the receiver; else OTEL_EXPORTER_OTLP_ENDPOINT")
    command.add_argument(
        "--recording", metavar="FILE", action="append", help="a recording that has the pending mark, for what follows"
    )
    command.add_argument("--key", metavar="K", help="the scorer's key, chloe.scorer.key of the pending mark")
    command.add_argument("--version", metavar="V", help="the scorer's version, chloe.scorer.version")
    command.add_argument("--agent", metavar="A", help="the run's agent, for the metrics")
    command.add_argument("--threshold", metavar="X", type=_finite, help="the number that passes, inclusive")
    command.add_argument(
        "--direction", choices=("higher_is_better", "lower_is_better", "none"), help="which numbers pass"
    )
    command.add_argument(
        "--revision", metavar="R", type=int, help="1 (default) more than the pending one's; 0: nothing waited for it"
    )


def _doctor(command: ArgumentParser) -> None:
    command.add_argument("files", metavar="FILE", nargs="*", help="a recording; - is standard input")
    command.add_argument("--rules", metavar="FILE", help="the rules; else the file that OTEL_CHLOE_RULES names")
    command.add_argument("--judge", action="store_true", help="ask the judge's model once; that costs a call")


def _reading(command: ArgumentParser) -> None:
    command.add_argument("files", metavar="FILE", nargs="+", help="a recording; - is standard input")
    command.add_argument(
        "--format", choices=("text", "json"), default="text", help="text (default), or one JSON object a run"
    )
    command.add_argument("--together", action="store_true", help="join runs across the files, as if they were one")


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ArgumentTypeError(f"{text!r} is not a number, such as 0.9")
    return number


class _Version(Action):
    """Reads the version only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **given: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=SUPPRESS, **given)

    def __call__(self, parser: ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"otel-chloe {version('otel-chloe')}")
        except PackageNotFoundError:
            print("otel-chloe, run from its source and not installed")
        parser.exit()
