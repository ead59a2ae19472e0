"""Marks as annotations in Phoenix, against a stand-in that speaks its API."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace

import pytest
from agent_app import RULES
from agent_script import run_script
from own_provider import Setup
from phoenix_standin import StandIn
from sink_backend import BROKEN, PASSED, SPAN_ID, a_run

from otel_chloe import attach
from otel_chloe.config import Settings, load_rules
from otel_chloe.errors import ConfigError
from otel_chloe.health import Health
from otel_chloe.mark import Failed, Judged, Mark, Pending, Unscored
from otel_chloe.pipeline import annotating
from otel_chloe.pipeline.annotating import Annotating, pause_s
from otel_chloe.sinks.phoenix import Answer, annotation, poster
from otel_chloe.testing import SteppingClock


@pytest.fixture
def phoenix():
    made = StandIn()
    yield made
    made.close()


@pytest.fixture
def health():
    return Health(time.monotonic)


@pytest.fixture
def to(health):
    """``to(phoenix)`` sends there; pauses are none."""
    made = []

    def make(phoenix, **more):
        made.append(Annotating(poster(phoenix.url, {}), phoenix.url, health, **{"pause": lambda failures: 0.0, **more}))
        return made[-1]

    yield make
    for each in made:
        each.end(-1_000.0)


class TestAnnotation:
    def test_a_mark(self):
        said = annotation(a_run(), BROKEN, reasons=True)

        assert said["span_id"] == SPAN_ID
        assert (said["name"], said["annotator_kind"], said["identifier"]) == ("calls", "CODE", "m2")
        assert said["result"] == {"score": 0.0, "label": "fail", "explanation": BROKEN.reason}
        assert said["metadata"]["chloe.severity"] == "page"
        assert said["metadata"]["gen_ai.agent.name"] == "site_doctor"

    @pytest.mark.parametrize(
        ("outcome", "result", "kind"),
        [
            (Mark(0.5, "half", name="a", judged=Judged(model="m")), {"score": 0.5, "explanation": "half"}, "LLM"),
            (Mark(None, "r", name="a", value="red", label="red"), {"label": "red", "explanation": "r"}, "CODE"),
            (Unscored("a gap", name="a"), {"label": "unscored", "explanation": "a gap"}, "CODE"),
            (Pending(name="a"), {"label": "pending"}, "CODE"),
            (Failed("boom", name="a", judged=Judged()), {"label": "failed", "explanation": "boom"}, "LLM"),
        ],
    )
    def test_what_is_no_score_has_none(self, outcome, result, kind):
        said = annotation(a_run(), outcome, reasons=True)

        assert said["result"] == result
        assert said["annotator_kind"] == kind

    def test_reasons_stay_in_where_they_are_to(self):
        assert "explanation" not in annotation(a_run(), BROKEN, reasons=False)["result"]

    def test_without_a_span_there_is_none(self):
        assert annotation(a_run(span_id=None), PASSED, reasons=True) is None


class TestSending:
    def test_a_key_is_said(self, phoenix):
        post = poster(phoenix.url + "/", {"PHOENIX_API_KEY": "k"})

        assert post([annotation(a_run(), PASSED, reasons=True)]) == Answer(taken=True)
        ((_, _, headers),) = phoenix.requests
        assert headers["authorization" if "authorization" in headers else "Authorization"] == "Bearer k"

    def test_a_server_in_trouble_is_asked_again(self, phoenix, to, health):
        phoenix.answers += [503, 429, 500]
        to(phoenix).offer(a_run(), BROKEN)
        phoenix.wait(lambda: phoenix.kept)

        assert [code for code, _, _ in phoenix.requests] == [503, 429, 500, 200]
        assert phoenix.results == [("calls", {"score": 0.0, "label": "fail", "explanation": BROKEN.reason})]

    def test_what_was_taken_and_not_answered_is_there_once(self, phoenix, to):
        phoenix.answers += [0]
        to(phoenix).offer(a_run(), PASSED)
        phoenix.wait(lambda: len(phoenix.requests) == 2)

        assert [code for code, _, _ in phoenix.requests] == [200, 200]
        assert len(phoenix.kept) == 1

    def test_a_later_revision_takes_the_place_of_the_first(self, phoenix, to):
        sending = to(phoenix)
        sending.offer(a_run(), Pending(name="human", id="p"))
        sending.offer(a_run(), Mark(1.0, "good", name="human", id="p", revision=1))

        assert sending.wait(20)
        assert phoenix.results == [("human", {"score": 1.0, "explanation": "good"})]

    def test_a_span_that_is_not_there_yet_is_waited_for_and_keeps_no_other_back(self, phoenix, to, health):
        phoenix.spans = {SPAN_ID}
        phoenix.open.clear()
        sending = to(phoenix)
        for span_id in (SPAN_ID, "1" * 16, SPAN_ID):
            sending.offer(a_run(span_id=span_id), replace(PASSED, id=span_id))
        phoenix.open.set()
        phoenix.wait(lambda: len(phoenix.kept) == 1)
        phoenix.spans.add("1" * 16)
        phoenix.wait(lambda: len(phoenix.kept) == 2)

        assert sending.wait(20)
        assert health.errors() == {}

    def test_one_that_is_refused_costs_no_other(self, phoenix, to, health, caplog):
        phoenix.open.clear()
        sending = to(phoenix)
        for name in ("calls", "note", "more"):  # Phoenix keeps the name note for itself
            sending.offer(a_run(), replace(PASSED, name=name))
        phoenix.open.set()
        phoenix.wait(lambda: len(phoenix.kept) == 2)
        sending.end(time.monotonic())
        sending._thread.join(20)

        assert {name for name, _ in phoenix.results} == {"calls", "more"}
        assert health.errors() == {annotating.REFUSED: 1}
        assert "HTTP 400 said no. They are lost." in caplog.text

    def test_the_last_try_is_for_all_whatever_is_refused_first(self, phoenix, to, health):
        phoenix.open.clear()
        sending = to(phoenix)
        for name in ("note", "calls", "more"):
            sending.offer(a_run(), replace(PASSED, name=name))
        end = threading.Thread(target=sending.end, args=(time.monotonic(),))
        end.start()
        phoenix.open.set()
        end.join(20)

        assert {name for name, _ in phoenix.results} == {"calls", "more"}
        assert health.errors() == {annotating.REFUSED: 1}

    @pytest.mark.parametrize("code", [301, 302, 303, 307])
    def test_what_is_sent_on_elsewhere_is_not_taken(self, phoenix, to, health, code):
        phoenix.answers += [code]
        sending = to(phoenix)
        sending.offer(a_run(), PASSED)
        phoenix.wait(lambda: phoenix.requests)
        sending.end(time.monotonic())
        sending._thread.join(20)

        assert len(phoenix.requests) == 1
        assert health.stats().get(annotating.ANNOTATIONS, 0) == 0
        assert health.errors() == {annotating.REFUSED: 1}

    def test_a_key_that_is_wrong_is_said_and_not_tried_again(self, phoenix, to, health, caplog):
        phoenix.answers += [401]
        sending = to(phoenix)
        sending.offer(a_run(), PASSED)
        phoenix.wait(lambda: phoenix.requests)
        sending.end(time.monotonic())
        sending._thread.join(20)  # it writes the log

        assert len(phoenix.requests) == 1
        assert health.errors() == {annotating.REFUSED: 1}
        assert "HTTP 401" in caplog.text

    def test_a_run_that_is_not_exported_is_not_annotated(self, phoenix, to, health):
        sending = to(phoenix)
        sending.offer(a_run(sampled=False), PASSED)

        assert sending.wait(20)
        assert not phoenix.requests
        assert health.counted(annotating.NOT_SAMPLED) == 1


class Deaf:
    """Answers nothing before it is told to."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked = threading.Event()
        self.go = threading.Event()

    def __call__(self, annotations):
        self.asked.set()
        assert self.go.wait(20)
        return self.answers.pop(0) if self.answers else Answer(taken=True)


class TestLimits:
    def test_who_offers_never_waits_and_what_is_too_much_is_counted(self, health):
        post = Deaf()
        sending = Annotating(post, "there", health)
        for number in range(annotating.MOST_WAITING + 3):
            sending.offer(a_run(), replace(PASSED, id=str(number)))

        assert health.errors() == {annotating.QUEUE_FULL: 3}
        post.go.set()
        assert sending.wait(20)
        assert health.counted(annotating.ANNOTATIONS) == annotating.MOST_WAITING
        sending.end(0)

    def test_a_flush_does_not_wait_for_a_server_that_is_down(self, health):
        def down(annotations):
            return Answer(taken=False, again=True, said="down")

        sending = Annotating(down, "there", health, pause=lambda failures: 3_600.0)
        sending.offer(a_run(), PASSED)

        assert not sending.wait(20)
        sending.end(time.monotonic())
        assert health.errors() == {annotating.AT_END: 1}
        sending.offer(a_run(), PASSED)
        assert health.errors() == {annotating.AT_END: 2}

    def test_one_that_was_tried_for_ten_minutes_is_given_up(self, health):
        clock, answered = SteppingClock(), threading.Event()

        def down(annotations):
            clock.step(annotating.GIVE_UP_S / 2)
            answered.set()
            return Answer(taken=False, again=True, said="down")

        sending = Annotating(down, "there", health, clock=clock, pause=lambda failures: 0.0)
        sending.offer(a_run(), PASSED)
        assert answered.wait(20)
        while sending._thread is not None and not health.errors():
            sending.wait(1)

        assert health.errors() == {annotating.GAVE_UP: 1}
        sending.end(0)

    def test_a_post_that_raises_is_counted_and_the_next_is_sent(self, health):
        def post(annotations):
            if annotations[0]["name"] == "bad":
                raise ValueError("odd")
            return Answer(taken=True)

        sending = Annotating(post, "there", health)
        sending.offer(a_run(), replace(PASSED, name="bad"))
        sending.wait(20)
        sending.offer(a_run(), PASSED)

        assert sending.wait(20)
        assert health.errors() == {"ValueError": 1, annotating.REFUSED: 1}
        sending.end(0)

    def test_pauses_grow_to_a_minute(self):
        assert [pause_s(n, 0.0) for n in (1, 2, 3, 7, 8, 10_000)] == [1, 2, 4, 60, 60, 60]
        assert pause_s(3, 1.0) == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("localhost:6006", "phoenix: 'localhost:6006' cannot stand here. Write the address of its server, such as"),
        (6006, "phoenix: 6006 cannot stand here."),
        ("http://h:6006/v1/traces", "Write it without the path of the API: http://h:6006."),
    ],
)
def test_an_address_that_is_none(value, message):
    with pytest.raises(ConfigError) as error:
        Settings.from_mapping({"phoenix": value})

    assert message in str(error.value)


class TestWhole:
    @pytest.fixture
    def setup(self):
        made = Setup()
        yield made
        made.provider.shutdown()

    def test_the_marks_of_a_run_stand_on_its_span(self, phoenix, setup):
        rules = load_rules({**RULES, "settings": {"phoenix": phoenix.url}})
        attachment = attach(rules, provider=setup.provider)
        setup.run("delete_site")

        assert attachment.flush()
        (span,) = [each for each in setup.exporter.get_finished_spans() if each.name.startswith("invoke_agent")]
        ((name, mark_id, span_id),) = phoenix.kept
        assert (name, span_id) == ("calls", f"{span.context.span_id:016x}")
        assert mark_id
        assert phoenix.results[0][1]["label"] == "fail"
        assert attachment.stats()["annotations"] == 1
        attachment.detach()

    def test_it_is_off_unless_it_is_set(self, setup):
        attachment = attach(RULES, provider=setup.provider)
        setup.run("check_site")

        assert attachment.flush()
        assert "annotations" not in attachment.stats()
        assert not [each for each in threading.enumerate() if each.name == "otel_chloe.phoenix"]
        attachment.detach()

    def test_no_span_is_made_of_a_post_and_a_server_that_is_away_costs_the_agent_nothing(self, setup):
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
        attachment = attach(RULES, provider=setup.provider, settings={"phoenix": url, "shutdown_s": 5})
        setup.run("check_site")

        assert attachment.flush(20), "older SDKs would not flush the exporters behind us"
        attachment.detach()
        assert len(setup.exporter.get_finished_spans()) == 3
        assert attachment.stats()["errors.annotation_after_shutdown"] == 1

    def test_the_end_of_a_program_sends_what_waits(self, phoenix):
        run_script(f"""
        os.environ["OTEL_CHLOE_PHOENIX"] = {phoenix.url!r}
        app = Bare()
        app.run("check_site")
        """)

        assert [result["label"] for _, result in phoenix.results] == ["pass"]

    @pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
    def test_a_forked_process_sends_its_own_and_not_its_parents(self, phoenix):
        run_script(f"""
        os.environ["OTEL_CHLOE_PHOENIX"] = {phoenix.url!r}
        app = Bare()
        app.run("check_site")
        app.processor.force_flush()
        child = os.fork()
        app.run("delete_site")
        app.processor.force_flush()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        """)

        assert sorted(result["label"] for _, result in phoenix.results) == ["fail", "fail", "pass"]
        assert len(phoenix.requests) == 3
