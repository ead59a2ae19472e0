"""Forks of a process whose other threads run agents without a pause."""

from __future__ import annotations

from agent_script import run_script


def test_again_and_again_while_threads_run_agents():
    said = run_script("""
    app = Bare()
    over = threading.Event()
    def work():
        while not over.is_set():
            app.run("check_site")
    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads: thread.start()
    fine = 0
    for _ in range(5):
        if (pid := os.fork()) == 0:
            app.run("check_site")
            ok = app.processor.force_flush(20_000) and app.processor.stats()["runs_open"] == 0
            os._exit(0 if ok else 3)
        fine += os.waitpid(pid, 0)[1] == 0
    over.set()
    for thread in threads: thread.join(20)
    say(fine, app.processor.force_flush(20_000), app.processor.stats()["errors"])
    """)

    assert said == ["5 True 0"]
