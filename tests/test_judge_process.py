"""The judge's child among processes: signals, forks, its parent's end, and what it must not pick up on the way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from judge_child import ask, fake_judge, finished, has_ended, run_script, start_script, told

from otel_chloe.judge import launch
from otel_chloe.judge.launch import environment

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

    def test_while_others_ask_leave_them_their_answers(self):
        said = run_script("""
        judge = fake_judge()
        async def main():
            waits = [asyncio.create_task(judge.ask(asked("echo", str(n)))) for n in range(50)]
            await asyncio.sleep(0)
            if (pid := os.fork()) == 0:
                del waits
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


class TestSurroundings:
    def test_the_users_own_modules_shadow_nothing(self, tmp_path):
        """Neither in the working directory, nor beside the program, nor where PYTHONPATH names the directory."""
        cwd = tmp_path / "cwd"
        cwd.mkdir()
        for folder in (tmp_path, cwd):
            (folder / "litellm.py").write_text("raise ImportError('the wrong one')")
        here = Path(__file__).parent.parent
        (path,) = run_script(
            """
            judge = fake_judge()
            say(json.dumps(told(judge, "where")))
            """,
            folder=tmp_path,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": f".{os.pathsep}{here}{os.pathsep}"},
        )

        assert '""' not in path
        assert '"."' not in path
        assert f'"{cwd}"' not in path.partition('"cwd"')[0]
        assert f'"{tmp_path}"' not in path

    def test_our_own_modules_shadow_nothing(self, judge):
        assert str(launch.MAIN.parent) not in told(judge, "where")["path"]

    def test_it_imports_neither_our_front_nor_a_tracer(self, judge):
        modules = set(told(judge, "where")["modules"])

        assert {"otel_chloe.judge.frames", "otel_chloe.judge.models"} <= modules
        assert not {name for name in modules if name.startswith("opentelemetry") or name == "otel_chloe.processor"}

    def test_it_has_a_session_of_its_own(self, judge):
        assert told(judge, "where")["session"] == judge.pid

    def test_litellm_reads_no_env_file_and_fetches_no_prices(self, judge):
        found = told(judge, "environment")

        assert (found["LITELLM_MODE"], found["LITELLM_LOCAL_MODEL_COST_MAP"]) == ("PRODUCTION", "True")

    def test_nothing_traces_it(self, judge):
        assert told(judge, "environment")["OTEL_SDK_DISABLED"] == "true"

    def test_auto_instrumentation_is_left_out(self, tmp_path, monkeypatch):
        agent, own = tmp_path / "agent", tmp_path / "own"
        for folder in (agent, own):
            folder.mkdir()
            (folder / "sitecustomize.py").write_text("")
        (agent / "__init__.py").write_text("")
        found = environment({"PYTHONPATH": os.pathsep.join(map(str, (agent, own))), "KEY": "x"})

        assert found["PYTHONPATH"] == str(own)
        assert found["KEY"] == "x"

    def test_opentelemetry_instrument_is_left_out(self):
        instruments = pytest.importorskip("opentelemetry.instrumentation.auto_instrumentation")
        folder = str(Path(instruments.__file__).parent)

        assert "PYTHONPATH" not in environment({"PYTHONPATH": folder})

    def test_warnings_of_the_application_stay_its_own(self, tmp_path):
        said = run_script("say(ask(fake_judge(), 'echo').text)", env={**os.environ, "PYTHONWARNINGS": "error"})

        assert said == ["hello"]

    def test_a_working_directory_that_is_gone_is_no_error(self, tmp_path):
        gone = tmp_path / "gone"
        gone.mkdir()
        said = run_script(f"os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); say(ask(fake_judge(), 'echo').text)")

        assert said == ["hello"]

    def test_nothing_that_it_starts_holds_its_pipes(self, judge):
        assert ask(judge, "inherits").text == "[]"
