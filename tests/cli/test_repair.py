"""``warploom repair``: racy, clean and hopeless documents."""

import json
from dataclasses import replace

from warploom import DeclarativeSchedule, ScheduleConfig, SchedulingStrategy, compile_schedule
from warploom.ir import read_schedule, write_schedule

from .runner import warploom


def racy():
    config = ScheduleConfig(scheduling=SchedulingStrategy.IDENTITY)
    schedule = DeclarativeSchedule(lgkm_a=8, lgkm_b=4, config=config)
    return compile_schedule(schedule, on_race="skip").document()


def test_a_racy_document_is_repaired(tmp_path):
    path, out = tmp_path / "racy.json", tmp_path / "clean.json"
    path.write_text(write_schedule(racy()))
    assert warploom("verify", str(path)).returncode == 1
    done = warploom("repair", str(path), "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("WAIT_LGKM(8) -> WAIT_LGKM(0)") == 2
    assert warploom("verify", str(out)).returncode == 0
    again = warploom("repair", str(out))
    assert again.stdout.strip() == "nothing to repair"


def test_changes_as_json(tmp_path):
    path = tmp_path / "racy.json"
    path.write_text(write_schedule(racy()))
    done = warploom("repair", str(path), "--json")
    changes = json.loads(done.stdout)["changes"]
    assert [c["kind"] for c in changes] == ["tightened", "tightened"]
    assert all("WAR-LDS" in c["why"] for c in changes)


def test_an_order_that_loses_data_is_not_repaired(tmp_path):
    document = racy()
    lost = tuple(e for e in document.kernel if e.op.name != "LOAD_B")
    path = tmp_path / "lost.json"
    path.write_text(write_schedule(replace(document, kernel=lost, kernel_deps=())))
    assert read_schedule(path.read_text()).name == document.name
    done = warploom("repair", str(path))
    assert done.returncode == 2
    assert "OrderError" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_role_program_of_no_known_kernel_is_patched(tmp_path):
    from tests.verify.test_defects import FOLDER

    data = json.loads((FOLDER / "warp_then_warpgroup_sync_false_alarm.json").read_text())
    consumer = data["programs"][1]
    consumer["kernel"] = [e for e in consumer["kernel"] if e["entry"] != "WaitFull"]
    data["name"] = "somebody's"
    path, out = tmp_path / "racy.json", tmp_path / "repaired.json"
    path.write_text(json.dumps(data))
    done = warploom("repair", str(path), "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert "WaitFull before consumer.kernel" in done.stdout
    assert warploom("verify", str(out)).returncode == 0
