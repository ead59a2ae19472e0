"""The judge's child among processes: signals, forks, its parent's end, and what it must not pick up on the way."""

from __future__ import annotations

import os
import signal

import pytest
from judge_child import DEADLINE_S, ask, fake_judge, finished, has_ended, run_script, start_script

linux = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no pidfd_open on this platform")


@pytest.fixture(scope="module")
def judge():
    judge = fake_judge()
    yield judge
    judge.close()


class TestSignals:
    def test_ctrl_c_does_not_reach_the_child_before_the_drain(self, tmp_path):
        os.mkfifo(pipe := tmp_path / "pipe")
        script = start_script(
            f"""
            judge = fake_judge()
            async def drained():
                waits = asyncio.create_task(judge.ask(asked("told_by:{pipe}")))
                await judge.ask(asked("echo"))
                say("asked")
                await interrupted.wait()
                with open({str(pipe)!r}, "w") as file: file.write("still there")
                say((await waits).text)
            async def main():
                global interrupted
                interrupted = asyncio.Event()
                asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
                await drained()
            asyncio.run(main())
            """,
            start_new_session=True,
        )
        assert script.stdout.readline() == "asked\n"
        os.killpg(script.pid, signal.SIGINT)

        assert finished(script) == ["still there"]

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_service_manager_that_signals_all_does_not_end_it_before_its_parent(self, judge, number):
        ask(judge, "echo")
        os.kill(pid := judge.pid, number)

        assert ask(judge, "echo").text == "hello"
        assert judge.pid == pid

    def test_a_dead_child_does_not_kill_programs_that_let_sigpipe_kill_them(self):
        said = run_script("""
        from otel_chloe.judge.link import _write_quietly
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        reads, writes = os.pipe()
        os.close(reads)
        try:
            _write_quietly(writes, b"question")
        except BrokenPipeError:
            say("alive")
        """)

        assert said == ["alive"]


@linux
class TestParent:
    def test_that_is_killed_takes_it_along(self):
        script = start_script("""
        judge = fake_judge()
        ask(judge, "echo")
        say(judge.pid)
        signal.pause()
        """)
        child = int(script.stdout.readline())
        script.kill()
        script.communicate()

        assert has_ended(child)

    def test_that_is_killed_while_the_child_starts_takes_it_along(self, tmp_path):
        (tmp_path / "litellm.py").write_text("import threading; threading.Event().wait()")
        script = start_script(f"""
        judge = fake_judge(first_path=({str(tmp_path)!r},))
        async def main():
            waits = asyncio.create_task(judge.ask(asked("echo")))
            await asyncio.sleep(0)
            say(judge.pid)
            await waits
        asyncio.run(main())
        """)
        child = int(script.stdout.readline())
        script.kill()
        script.communicate()

        assert has_ended(child)

    def test_that_closes_its_pipes_takes_it_along(self):
        judge = fake_judge()
        ask(judge, "echo")
        child, process = judge.pid, judge._link._process
        judge._link.disown()

        assert has_ended(child)
        process.returncode = None
        assert process.wait(DEADLINE_S) == 0

    def test_that_returns_takes_it_along(self):
        (child,) = run_script("""
        judge = fake_judge()
        ask(judge, "echo")
        say(judge.pid)
        """)

        assert has_ended(int(child))

    def test_that_is_killed_takes_it_along_though_a_sibling_holds_the_pipe(self):
        """The sibling is forked by other means than Python's, which tell nobody."""
        script = start_script("""
        import ctypes
        judge = fake_judge()
        ask(judge, "echo")
        if (sibling := ctypes.CDLL(None).fork()) == 0:
            signal.pause()
        say(judge.pid, sibling)
        signal.pause()
        """)
        child, sibling = map(int, script.stdout.readline().split())
        script.kill()
        try:
            assert has_ended(child)
            assert not has_ended(sibling, 0)
        finally:
            os.kill(sibling, signal.SIGKILL)
            script.communicate()

    def test_may_judge_for_the_first_time_while_it_exits(self):
        said = run_script("""
        import atexit
        atexit.register(lambda: say(ask(fake_judge(), "echo").text))
        """)

        assert said == ["hello"]


@linux
class TestForks:
    def test_close_what_they_inherited_and_start_their_own(self):
        said = run_script("""
        judge = fake_judge()
        ask(judge, "echo")
        link, first = judge._link, judge.pid
        if (pid := os.fork()) == 0:
            open_still = []
            for end in (link._in, link._out, link._output.fd):
                try: os.fstat(end); open_still.append(end)
                except OSError: pass
            none_yet = judge.pid
            text = ask(judge, "echo", "from the fork").text
            say(open_still, none_yet, text, judge.pid != first)
            sys.exit(0)
        os.waitpid(pid, 0)
        say(ask(judge, "echo", "from the parent").text, judge.pid == first)
        """)

        assert said == ["[] None from the fork True", "from the parent True"]

    @pytest.mark.parametrize("fork", ["os.fork", "ctypes.PyDLL(None).fork"])
    def test_while_others_ask_leave_them_their_answers(self, fork):
        """Also where the forked process gives up the questions that it inherited: it shares the loop's epoll."""
        said = run_script(f"""
        import ctypes
        judge = fake_judge()
        async def main():
            waits = [asyncio.create_task(judge.ask(asked("echo", str(n)))) for n in range(50)]
            await asyncio.sleep(0)
            if (pid := {fork}()) == 0:
                for each in waits: each.get_coro().close()
                os._exit(0)
            os.waitpid(pid, 0)
            say(len([await each for each in waits]))
        asyncio.run(main())
        """)

        assert said == ["50"]

    def test_that_python_was_not_told_of_start_their_own(self):
        said = run_script("""
        import ctypes
        judge = fake_judge()
        ask(judge, "echo")
        first = judge.pid
        if (pid := ctypes.PyDLL(None).fork()) == 0:
            say(judge.pid, ask(judge, "echo", "from the fork").text, judge.pid != first)
            os._exit(0)
        os.waitpid(pid, 0)
        say(ask(judge, "echo", "from the parent").text, judge.pid == first)
        """)

        assert said == ["None from the fork True", "from the parent True"]

    def test_of_a_server_that_loaded_the_application_first_have_a_child_each(self):
        said = run_script("""
        judge = fake_judge()
        for worker in range(3):
            if os.fork() == 0:
                ask(judge, "echo")
                say(judge.pid)
                sys.exit(0)
        say([os.wait()[1] for _ in range(3)], judge.pid)
        """)

        assert "[0, 0, 0] None" in said
        assert len(set(said)) == 4
