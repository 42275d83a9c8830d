from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from confined import SOURCE, run_confined, run_free
from srh.errors import SandboxUnavailableError
from srh.sandbox import landlock, lockdown, seccomp
from srh.sandbox.limits import Limits
from srh.sandbox.lockdown import Confinement, lock_down

MODELS = """
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.cluster import KMeans
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.svm import SVR
    import joblib, pickle, scipy.optimize, scipy.stats.qmc, scipy.integrate
    X = np.random.default_rng(0).normal(size=(300, 6))
    y = X @ np.arange(6.0) + np.sin(3 * X[:, 0])
    models = [
        Ridge(), make_pipeline(StandardScaler(), SVR()), KNeighborsRegressor(n_jobs={threads}),
        HistGradientBoostingRegressor(max_iter=20),
        RandomForestRegressor(10, n_jobs={threads}, random_state=0),
    ]
    for model in models:
        joblib.dump(model.fit(X, y), "model.joblib")
        again = joblib.load("model.joblib").predict(X)
        assert np.array_equal(again, model.predict(X))
        assert np.corrcoef(again, y)[0, 1] > 0.7
    KMeans(3, n_init=1, random_state=0).fit(X)
    scipy.optimize.least_squares(lambda p: X @ p - y, np.zeros(6))
    scipy.integrate.solve_ivp(lambda t, u: -u, (0, 1), [1.0])
    scipy.stats.qmc.Sobol(3).random(8)  # reads its table of coefficients from its package
    np.save("state.npy", X); np.load("state.npy", mmap_mode="r").sum()
    np.memmap("mapped", dtype=float, mode="w+", shape=(10,))[:] = 1
    print("fitted", len(models))
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_models_work_after_the_lock(threads, tmp_path):
    ran = run_confined(MODELS.format(threads=threads), tmp_path, threads=threads)
    assert str(ran) == "fitted 5"
    assert ran.err == ""


def test_the_first_warning_is_what_happens_without_the_lock_too(tmp_path):
    assert str(run_free(MODELS.format(threads=2), tmp_path, threads=2)) == "fitted 5"


def test_descriptors_to_keep_stay_and_others_go(tmp_path):
    (tmp_path / "kept").write_text("kept")
    first, second = (os.open(tmp_path / "kept", os.O_RDONLY) for _ in range(2))
    try:
        snippet = f"""
        import os
        print(os.read({second}, 9), end=" ")
        alive = [fd for fd in range(64) if fd != {second} and is_readable(fd)]
        """
        opened = """
import os
def is_readable(fd):
    try: os.pread(fd, 1, 0)
    except OSError as error: return error.errno != 9
    return True
spare = os.open("/etc/passwd", 0)
"""
        snippet += "\n        print(alive)\n"
        ran = run_confined(snippet, tmp_path, keep=(0, 1, 2, second), before=opened)
    finally:
        os.close(first)
        os.close(second)
    assert str(ran) == "b'kept' [0, 1, 2]"


def test_the_scratch_folder_is_home_and_working_folder(tmp_path):
    snippet = """
    import os, tempfile
    from pathlib import Path
    with tempfile.NamedTemporaryFile() as file:
            folder = os.path.dirname(file.name)
    print(len({os.getcwd(), str(Path.home()), tempfile.gettempdir(), folder}))
    """
    assert str(run_confined(snippet, tmp_path)) == "1"


def test_forked_processes_draw_different_numbers(tmp_path):
    """Both begin with the same state; what they draw after the lock differs."""
    snippet = "import random, numpy; print(random.random(), numpy.random.random())"
    before = "import random, numpy; random.seed(1); numpy.random.seed(1)"
    drawn = {str(run_confined(snippet, tmp_path, before=before)) for _ in range(2)}
    free = {str(run_free(f"{before}\n{snippet}", tmp_path)) for _ in range(2)}
    assert (len(drawn), len(free)) == (2, 1)


def test_data_sets_in_packages_are_withheld_and_their_packages_work(tmp_path):
    snippet = """
    from sklearn import datasets
    X, y = datasets.make_regression(10, 2)
    print(X.shape, end=" ")
    try:
        print(datasets.load_diabetes().data.shape)
    except PermissionError:
        print("withheld")
    """
    assert str(run_free(snippet, tmp_path)) == "(10, 2) (442, 10)"
    assert str(run_confined(snippet, tmp_path)) == "(10, 2) withheld"


def test_an_editable_installation_shows_its_package_only(tmp_path):
    seen = f"""
    from pathlib import Path
    import srh
    def readable(path):
        try: return bool(path.read_bytes())
        except PermissionError: return False
    source = Path({str(SOURCE)!r})
    print(readable(source / "srh" / "errors.py"), readable(source.parent / "srh.toml"),
          readable(source.parent / "tasks" / "kepler" / "task.toml"))
    """
    (SOURCE.parent / "srh.toml").stat()
    free = run_free(f"import sys; sys.path.append({str(SOURCE)!r})\n" + _dedent(seen), tmp_path)
    assert str(free).split()[::2] == ["True", "True"]
    assert str(run_confined(seen, tmp_path)) == "True False False"


def test_memory_is_counted_from_the_end_of_the_imports(tmp_path):
    snippet = """
    kept = np.ones(5_000_000)
    try:
        np.ones(20_000_000)
        print("no limit")
    except MemoryError:
        print("memory")
    """
    imports = "import numpy as np, scipy.optimize, sklearn.ensemble"
    assert str(run_confined(snippet, tmp_path, imports=imports, memory_mb=100)) == "memory"
    assert str(run_free(f"{imports}\n{_dedent(snippet)}", tmp_path)) == "no limit"


def test_a_large_array_still_grows_in_place(tmp_path):
    """Remapping is refused for the stack alone."""
    snippet = """
    import ctypes, mmap
    data = bytearray(10_000_000)
    for _ in range(20):
        data += bytes(5_000_000)
    view = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    view.resize(1 << 24)
    print(len(data), len(view))
    """
    assert str(run_confined(snippet, tmp_path)) == "110000000 16777216"


def test_a_process_with_threads_is_not_locked_down(tmp_path):
    before = """
    import threading, time
    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
    """
    ran = run_confined("print('locked')", tmp_path, before=before)
    assert "this one has 2" in ran.err
    assert ran.out == ""


def test_unsafe_applies_the_limits_only(tmp_path):
    snippet = """
    import os, resource
    print(lock_down(Confinement(read=(), scratch=Path("."), limits=_limits, unsafe=True)), end=" ")
    os.fork() or os._exit(0)
    print(resource.getrlimit(resource.RLIMIT_CPU)[0], open("/etc/passwd").read(4))
    """
    before = """
    import srh.sandbox.lockdown as module
    from srh.sandbox.limits import Limits
    """
    code = f"import sys; sys.path.append({str(SOURCE)!r})\nfrom pathlib import Path\n" + _dedent(
        before
    )
    code += "from srh.sandbox.lockdown import Confinement, lock_down\n_limits = Limits(cpu_s=7)\n"
    assert str(run_free(code + _dedent(snippet), tmp_path)) == "unsafe 7 root"


@pytest.mark.parametrize(
    ("module", "name", "value", "lack"),
    [
        (landlock, "abi", lambda: 0, "Landlock"),
        (seccomp, "available", lambda: False, "seccomp"),
        (seccomp, "machine", lambda: "riscv64", "riscv64"),
        (lockdown, "LINUX", False, "Linux"),
    ],
)
def test_a_missing_protection_refuses(module, name, value, lack, monkeypatch, tmp_path):
    monkeypatch.setattr(module, name, value)
    confinement = Confinement(read=(), scratch=tmp_path, limits=Limits())
    with pytest.raises(SandboxUnavailableError, match="code trials are refused") as raised:
        lock_down(confinement)
    assert lack in str(raised.value)
    assert "--unsafe-no-sandbox" in str(raised.value)
    assert os.open(os.devnull, os.O_RDONLY) > 2  # nothing was closed


def test_relative_paths_count_from_where_the_process_was(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "given").write_text("given")
    code = f"import sys; sys.path.append({str(SOURCE)!r})" + _dedent("""
    from pathlib import Path
    from srh.sandbox.limits import Limits
    from srh.sandbox.lockdown import Confinement, lock_down
    lock_down(Confinement(read=(Path("given"),), scratch=Path("scratch"), limits=Limits()))
    Path("written").write_text(Path("../given").read_text())
    print(Path.home().is_absolute(), Path("written").read_text())
    """)
    assert str(run_free(code, tmp_path)) == "True given"


def test_a_folder_that_is_not_there_is_our_own_fault(tmp_path):
    ran = run_confined("print('locked')", tmp_path, read=(tmp_path / "none",))
    assert "HarnessError" in ran.err
    assert ran.out == ""


def test_root_keeps_its_number_and_nothing_else(tmp_path):
    snippet = """
    import ctypes, os
    print(os.getuid(), end=" ")
    held = [ctypes.CDLL(None).prctl(23, n) for n in range(41)]
    print(sum(bit == 1 for bit in held))
    """
    ran = run_confined(snippet, tmp_path)
    uid, held = str(ran).split()
    assert int(uid) == os.getuid()
    if os.getuid() == 0:
        assert held == "0"


def test_nobody_is_confined_as_well(tmp_path_factory):
    """The sandbox needs nothing but the standard library, so any interpreter will do."""
    python = "/usr/bin/python3"
    setpriv = shutil.which("setpriv")
    if os.getuid() != 0 or setpriv is None or not Path(python).exists():
        pytest.skip("needs root, setpriv and an interpreter that everybody may run")
    version = subprocess.run(
        [python, "-c", "import sys; print(sys.version_info >= (3, 11))"],
        capture_output=True,
        check=True,
    )
    if version.stdout.strip() != b"True":
        pytest.skip("that interpreter is too old")
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        shutil.copytree(SOURCE / "srh", scratch / "lib" / "srh")
        (scratch / "own").mkdir()
        for path in (scratch, scratch / "own"):
            os.chown(path, 65534, 65534)
            path.chmod(0o755)
        (scratch / "secret").write_text("x")
        (scratch / "secret").chmod(0o644)
        nobody = (setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", python)
        snippet = f"""
        import errno, os
        open("file", "w").write("x")
        print(os.getuid(), end=" ")
        for act in (lambda: open({str(scratch / "secret")!r}), os.fork, lambda: os.kill(1, 0)):
            try: act(); print("done", end=" ")
            except OSError as error: print(errno.errorcode[error.errno], end=" ")
        """
        before = f"sys.path.insert(0, {str(scratch / 'lib')!r})"
        ran = run_confined(snippet, scratch / "own", python=nobody, before=before)
    assert str(ran) == "65534 EACCES ECHILD ESRCH"


def _dedent(text: str) -> str:
    import textwrap

    return textwrap.dedent(text)
