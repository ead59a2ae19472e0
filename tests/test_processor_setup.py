"""How a processor is made, told to flush, shut down, and asked what it counted."""

from __future__ import annotations

import json
import threading

import pytest
from agent_app import PASSED, App, Kept, marks_of
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_chloe import ConfigError, ScoringSpanProcessor
from otel_chloe.config import load_rules

FREE = {"agents": {"*": {"calls": {}}}}


class TestRefusedArguments:
    def test_say_so(self):
        with pytest.raises(ConfigError, match=r"^3 is no scorer\. Pass a function"):
            ScoringSpanProcessor(None, scorers=[3])

    @pytest.mark.parametrize("nothing", [{"scorers": ()}, {"scorers": []}, {"complete": None, "on_mark": None}])
    def test_that_ask_for_nothing_are_taken(self, nothing):
        ScoringSpanProcessor(None, **nothing)

    def test_a_hold_without_a_time(self):
        with pytest.raises(ConfigError, match=r"^hold: seconds: 0 cannot stand here"):
            ScoringSpanProcessor(None).hold(Kept(), seconds=0)

    def test_a_wrong_rule(self):
        with pytest.raises(ConfigError, match="mustCall"):
            ScoringSpanProcessor({"agents": {"a": {"calls": {"mustCal": []}}}})

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(ConfigError, match=r"rules\.yaml"):
            ScoringSpanProcessor(tmp_path / "rules.yaml")

    def test_all_but_the_rules_by_name_only(self):
        with pytest.raises(TypeError):
            ScoringSpanProcessor(None, ())


class TestSettings:
    def test_an_unknown_key_names_the_nearest(self):
        with pytest.raises(ConfigError, match="settle_s"):
            ScoringSpanProcessor(None, settings={"setle_s": 1})

    def test_a_wrong_value(self):
        with pytest.raises(ConfigError, match="max_spans"):
            ScoringSpanProcessor(None, settings={"max_spans": 0})

    def test_win_over_those_in_the_rules(self):
        rules = {**FREE, "settings": {"reasons": True, "evaluation_spans": False}}
        with App(rules, settings={"reasons": False}) as app:
            app.run("check_site")

            assert app.reason() is None
            assert app.exported("evaluation calls") == []

    def test_no_settle_delay_closes_runs_without_a_flush(self):
        closed = threading.Event()

        class Hearing(LogRecordProcessor):
            def on_emit(self, log_record):
                closed.set()

            def shutdown(self):
                pass

            def force_flush(self, timeout_millis=30_000):
                return True

        with App(settings={"settle_s": 0}) as app:
            app.loggers.add_log_record_processor(Hearing())
            app.run("check_site")

            assert closed.wait(20)

    def test_a_run_over_its_spans_is_closed_early_and_cut_short(self):
        with App(FREE, settings={"max_spans": 10}) as app:
            with app.agent():
                app.call(*["check_site"] * 30)

            ends = [event["chloe.run.end"] for event in app.events()]
            assert ends[0] == "span_limit"
            assert len(ends) == 1
            assert app.processor.stats()["runs_open"] == 0

    def test_a_run_over_its_bytes_is_closed_early_and_cut_short(self):
        with App(FREE, settings={"max_bytes": 1_000}) as app:
            with app.agent():
                app.call(*["check_site"] * 100)

            assert [event["chloe.run.end"] for event in app.events()] == ["byte_limit"]


class TestRulesFrom:
    def test_a_file(self, tmp_path):
        path = tmp_path / "rules.yaml"
        path.write_text("agents: {site_doctor: {calls: {mustCall: [check_site]}}}")
        for given in (path, str(path)):
            with App(given) as app:
                app.run("check_site")
                assert app.marks() == PASSED

    def test_the_variable(self, tmp_path, monkeypatch):
        path = tmp_path / "rules.json"
        path.write_text(json.dumps({"agents": {"site_doctor": {"calls": {"mustCall": ["check_site"]}}}}))
        monkeypatch.setenv("OTEL_CHLOE_RULES", str(path))
        with App(None) as app:
            app.run("check_site")
            assert app.marks() == PASSED

    def test_the_variable_unless_rules_are_given(self, tmp_path, monkeypatch):
        monkeypatch.setenv("OTEL_CHLOE_RULES", str(tmp_path / "missing.yaml"))
        with App(FREE) as app:
            app.run("check_site")
            assert app.marks() == PASSED

    def test_loaded_rules(self):
        with App(load_rules(FREE)) as app:
            app.run("check_site")
            assert app.marks() == PASSED


class TestStats:
    def test_of_a_new_processor(self):
        assert ScoringSpanProcessor(None).stats() == {"errors": 0, "runs_open": 0}

    def test_count_runs_and_marks(self):
        with App() as app:
            with app.agent():
                assert app.processor.stats()["runs_open"] == 1
            app.run("check_site")
            app.flush()

            assert app.processor.stats() == {"errors": 0, "marks": 2, "runs": 2, "runs_open": 0}


class Stuck(LogRecordProcessor):
    """Holds the worker until it is let go."""

    def __init__(self) -> None:
        self.entered, self.free = threading.Event(), threading.Event()

    def on_emit(self, log_record):
        self.entered.set()
        self.free.wait(20)

    def shutdown(self):
        pass

    def force_flush(self, timeout_millis=30_000):
        return True


class TestForceFlush:
    def test_returns_when_the_marks_were_handed_over(self):
        with App(settings={"settle_s": 600}) as app:
            app.run("check_site")

            assert app.processor.force_flush() is True
            assert len(app.log_exporter.get_finished_logs()) == 1

    def test_leaves_runs_alone_whose_root_has_not_ended(self):
        with App() as app:
            with app.agent():
                app.call("check_site")
                assert app.processor.force_flush() is True
                assert app.log_exporter.get_finished_logs() == ()

            assert app.scores() == [("site_doctor", 1.0)]

    def test_is_false_when_its_time_is_over(self):
        stuck, loggers = Stuck(), LoggerProvider(shutdown_on_exit=False)
        loggers.add_log_record_processor(stuck)
        processor = ScoringSpanProcessor(FREE, logger_provider=loggers)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor)
        with provider.get_tracer("app").start_as_current_span("invoke_agent a"):
            pass
        with provider.get_tracer("app").start_as_current_span(
            "a", attributes={"gen_ai.operation.name": "invoke_agent"}
        ):
            pass

        assert processor.force_flush(50) is False
        assert stuck.entered.wait(20)
        stuck.free.set()
        assert processor.force_flush(20_000) is True
        processor.shutdown()

    def test_of_a_processor_that_saw_nothing_starts_no_thread(self):
        with App() as app:
            before = threading.active_count()
            with app.tracer.start_as_current_span("GET /"):
                pass

            assert app.processor.force_flush() is True
            assert threading.active_count() == before

    def test_from_many_threads(self):
        with App() as app:
            said = []

            def work():
                app.run("check_site")
                said.append(app.processor.force_flush(20_000))

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)

            assert said == [True] * 8
            assert len(app.log_exporter.get_finished_logs()) == 8


class TestShutdown:
    def test_closes_what_is_open(self):
        with App() as app:
            app.start_agent("site_doctor")
            with app.agent():
                app.call("delete_site")
                app.stop()

            assert sorted(event["chloe.run.end"] for event in app.events()) == ["shutdown", "shutdown"]
            assert [event.get("gen_ai.evaluation.score.value") for event in app.events()].count(0.0) == 1

    def test_twice_is_once(self):
        with App() as app:
            app.run("check_site")
            app.stop()
            app.processor.shutdown()

            assert len(app.log_exporter.get_finished_logs()) == 1
            assert app.processor.force_flush() is False

    def test_of_a_processor_that_saw_nothing(self):
        processor = ScoringSpanProcessor(FREE)
        processor.shutdown()

        assert processor.stats()["errors"] == 0

    def test_spans_after_it_are_harmless(self):
        with App(errors=None) as app:
            before = app.start_agent()
            app.stop()
            before.end()
            app.run("check_site", "delete_site")

            stats = app.processor.stats()
            assert stats["runs"] == 1
            assert stats["errors"] == stats.get("errors.after_shutdown", 0)
            assert len(app.log_exporter.get_finished_logs()) == 1

    def test_spans_after_it_are_not_kept(self):
        with App() as app:
            app.stop()
            app.run("check_site", "restart_site")

            assert app.processor.stats()["runs_open"] == 0


class TestTwoProcessors:
    def test_on_one_provider_each_score_and_neither_scores_the_others_spans(self):
        with App() as app:
            second = app.scoring({"agents": {"*": {"calls": {"mustNotCall": ["check_site"]}}}})
            app.provider.add_span_processor(second)
            app.run("check_site")

            assert app.scores() == [("site_doctor", 0.0), ("site_doctor", 1.0)]
            assert len(app.exported("invoke_agent site_doctor")) == 1
            assert len(app.exported("evaluation calls")) == 2
            assert second.stats() == {"errors": 0, "marks": 1, "runs": 1, "runs_open": 0}
            assert app.processor.stats()["runs"] == 1

    def test_the_same_one_added_twice_marks_once(self):
        with App() as app:
            app.provider.add_span_processor(app.processor)
            app.run("check_site")

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]


class TestTwoProviders:
    def second(self, processor):
        exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        return provider, exporter

    def test_with_one_processor_evaluation_spans_go_where_the_agents_span_goes(self):
        with App() as app:
            provider, exporter = self.second(app.processor)
            app.run("check_site")
            app.tracer = provider.get_tracer("second")
            app.run("check_site", "delete_site")

            assert app.scores() == [("site_doctor", 0.0), ("site_doctor", 1.0)]
            for spans, passed in ((app.exporter, True), (exporter, False)):
                agent, evaluation = spans.get_finished_spans()[-2:]
                assert evaluation.name == "evaluation calls"
                assert marks_of(agent)["chloe.passed"] is passed
                assert evaluation.parent.span_id == agent.context.span_id

    def test_each_with_its_own_agents_and_tools_apart(self):
        """A tool of one provider below an agent of the other: only a processor on both sees it."""
        with App() as app:
            provider, _ = self.second(app.processor)
            with app.agent(), provider.get_tracer("tools").start_as_current_span("execute_tool check_site") as span:
                span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "check_site"})

            assert app.marks() == PASSED
            assert app.scores() == [("site_doctor", 1.0)]

    def test_a_given_tracer_provider_takes_the_evaluation_spans(self):
        exporter = InMemorySpanExporter()
        elsewhere = TracerProvider(shutdown_on_exit=False)
        elsewhere.add_span_processor(SimpleSpanProcessor(exporter))
        with App() as app:
            second = app.scoring(tracer_provider=elsewhere)
            elsewhere.add_span_processor(second)
            app.provider.add_span_processor(second)
            app.run("check_site")
            app.flush()

            assert [span.name for span in exporter.get_finished_spans()] == ["evaluation calls"]
            assert second.stats()["runs"] == 1
