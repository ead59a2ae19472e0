"""Which runs are judged, what it may cost, when to stop asking, and how fast to ask."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from otel_chloe.pipeline.judging.budget import Budget
from otel_chloe.pipeline.judging.circuit import FIRST_S, LONGEST_S, MOST_FAILURES, Circuit
from otel_chloe.pipeline.judging.pace import Pace
from otel_chloe.pipeline.judging.sampling import sampled

traces = st.binary(min_size=16, max_size=16).map(bytes.hex)


class TestSampling:
    @given(traces)
    def test_all_or_none(self, trace: str):
        assert sampled(trace, "expectations", 1.0)
        assert not sampled(trace, "expectations", 0.0)

    @given(traces, st.floats(0, 1), st.floats(0, 1))
    def test_who_is_judged_at_a_share_is_judged_at_every_greater_one(self, trace: str, one: float, other: float):
        low, high = sorted((one, other))

        assert sampled(trace, "expectations", high) or not sampled(trace, "expectations", low)

    def test_takes_about_the_share_that_was_asked_for(self):
        taken = sum(sampled(f"{n:032x}", "expectations", 0.25) for n in range(4_000))

        assert 900 < taken < 1_100

    def test_each_scorer_takes_traces_of_its_own(self):
        both = sum(
            sampled(f"{n:032x}", "expectations", 0.5) and sampled(f"{n:032x}", "tone", 0.5) for n in range(4_000)
        )

        assert 900 < both < 1_100

    def test_a_run_without_a_trace_is_judged(self):
        assert sampled(None, "expectations", 0.1)
        assert not sampled(None, "expectations", 0.0)


class TestBudget:
    def test_stops_before_the_hours_amount_is_passed(self):
        budget = Budget(1.0, 10.0)

        calls = _spend(budget, 0.3, now=0.0)

        assert calls == 3

    def test_counts_calls_under_way_as_the_dearest_so_far(self):
        budget = Budget(1.0, 10.0)
        assert _spend(budget, 0.3, now=0.0, most=1) == 1

        begun = 0
        while budget.allows(1.0):
            budget.began()
            begun += 1

        assert begun == 2

    def test_an_hour_later_there_is_money_again_until_the_day_is_spent(self):
        budget = Budget(1.0, 2.0)

        assert [_spend(budget, 0.5, now=hour * 3_700.0) for hour in range(4)] == [2, 2, 0, 0]
        assert _spend(budget, 0.5, now=30 * 3_600.0) == 2

    def test_nothing_may_be_spent_where_an_amount_is_0(self):
        assert not Budget(0.0, 10.0).allows(0.0)

    def test_a_call_of_unknown_cost_is_over_and_costs_nothing(self):
        budget = Budget(1.0, 1.0)
        budget.began()
        budget.ended(None, 0.0)

        assert _spend(budget, 1.0, now=0.0) == 1

    @given(st.lists(st.tuples(st.floats(0, 2_000), st.floats(0.01, 0.4)), max_size=60))
    def test_no_hour_costs_more_than_its_amount_and_one_call(self, steps: list[tuple[float, float]]):
        budget, now, paid = Budget(1.0, 3.0), 0.0, []
        for wait_s, usd in steps:
            now += wait_s
            if budget.allows(now):
                budget.began()
                budget.ended(usd, now)
                paid.append((now, usd))

        for at, _ in paid:
            assert sum(usd for when, usd in paid if at - 3_600 < when <= at) <= 1.0 + 0.4
            assert sum(usd for when, usd in paid if at - 86_400 < when <= at) <= 3.0 + 0.4


def _spend(budget: Budget, usd: float, *, now: float, most: int = 100) -> int:
    calls = 0
    while calls < most and budget.allows(now):
        budget.began()
        budget.ended(usd, now)
        calls += 1
    return calls


class TestCircuit:
    def test_opens_after_failures_in_a_row(self):
        circuit = Circuit()
        for n in range(MOST_FAILURES):
            assert circuit.lets_through(n), n
            circuit.failed("no answer", n + 0.5, began=n, lasting=False)

        assert not circuit.lets_through(MOST_FAILURES)
        assert circuit.why == "no answer"

    def test_an_answer_in_between_keeps_it_closed(self):
        circuit = Circuit()
        for n in range(5 * MOST_FAILURES):
            circuit.failed("no answer", n + 0.5, began=n, lasting=False)
            circuit.succeeded()

        assert circuit.lets_through(1.0)

    def test_calls_that_fail_together_are_one_failure(self):
        """As when the process that makes them dies."""
        circuit = Circuit()
        for n in range(MOST_FAILURES - 1):
            for _ in range(8):
                circuit.failed("it died", n + 0.5, began=n, lasting=False)

        assert circuit.lets_through(MOST_FAILURES)

    def test_opens_at_once_after_a_failure_that_lasts(self):
        circuit = Circuit()
        circuit.failed("no key", 0.0, began=0.0, lasting=True)

        assert not circuit.lets_through(FIRST_S - 1)

    def test_one_call_tries_whether_it_is_over(self):
        circuit = Circuit()
        circuit.failed("no key", 0.0, began=0.0, lasting=True)

        assert [circuit.lets_through(FIRST_S) for _ in range(3)] == [True, False, False]
        circuit.succeeded()
        assert circuit.lets_through(FIRST_S)

    def test_stays_open_longer_after_each_failed_try_up_to_a_limit(self):
        circuit, now, waits = Circuit(), 0.0, []
        circuit.failed("no key", now, began=now, lasting=True)
        for _ in range(8):
            begun = now
            while not circuit.lets_through(now):
                now += 1.0
            waits.append(now - begun)
            circuit.failed("no key", now, began=now, lasting=True)

        assert waits == [min(FIRST_S * 2**n, LONGEST_S) for n in range(8)]

    def test_a_try_that_was_given_up_lets_another_try(self):
        circuit = Circuit()
        circuit.failed("no key", 0.0, began=0.0, lasting=True)
        assert circuit.lets_through(FIRST_S)
        circuit.given_up()

        assert circuit.lets_through(FIRST_S)


class TestPace:
    def test_halves_at_a_complaint_and_never_stops(self):
        pace, seen, now = Pace(8), [], 0.0
        for _ in range(5):
            pace.complained(now, None)
            seen.append(pace.allowed)
            now += 10.0

        assert seen == [4, 2, 1, 1, 1]

    def test_one_wave_of_complaints_halves_once(self):
        pace = Pace(8)
        for _ in range(8):
            pace.complained(0.0, 2.0)

        assert pace.allowed == 4
        assert pace.wait_s(0.5) == 1.5
        assert pace.wait_s(3.0) == 0.0

    def test_ten_answers_allow_one_more_up_to_the_most(self):
        pace = Pace(4)
        pace.complained(0.0, None)
        seen = []
        for _ in range(40):
            pace.answered()
            seen.append(pace.allowed)

        assert seen[8:10] == [2, 3]
        assert max(seen) == 4
