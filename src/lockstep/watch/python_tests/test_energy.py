"""Energy counters: a powercap folder of the test's own, and a stand-in for NVML (LOCKSTEP_FAKE_NVML)."""

import os
import shutil
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from lockstep_watch.energy import Energy, Gpu, Processors  # noqa: E402


class Counters(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.zone("intel-rapl:0", "package-0", 1_000_000)
        self.zone("intel-rapl:0:0", "core", 900_000)
        self.zone("intel-rapl:0:1", "dram", 500_000)
        self.zone("intel-rapl:1", "psys", 9_000_000)
        self.zone("intel-rapl-mmio:0", "package-0", 1_000_000)

    def zone(self, folder, name, microjoules):
        os.makedirs(os.path.join(self.folder, folder))
        self.write(folder, "name", name)
        self.write(folder, "max_energy_range_uj", 10_000_000)
        self.write(folder, "energy_uj", microjoules)

    def write(self, folder, file, value):
        with open(os.path.join(self.folder, folder, file), "w") as out:
            out.write("%s\n" % value)

    def test_of_packages_and_memory_count_nothing_twice(self):
        processors = Processors(self.folder)
        for folder, value in (("intel-rapl:0", 3_000_000), ("intel-rapl:0:0", 2_500_000),
                              ("intel-rapl:0:1", 1_000_000), ("intel-rapl:1", 20_000_000)):
            self.write(folder, "energy_uj", value)
        self.assertAlmostEqual(processors.joules(), 2.5)

    def test_go_on_where_one_begins_again(self):
        processors = Processors(self.folder)
        self.write("intel-rapl:0", "energy_uj", 9_500_000)
        self.assertAlmostEqual(processors.joules(), 8.5)
        self.write("intel-rapl:0", "energy_uj", 1_500_000)  # 0.5 J to the end of the range, 1.5 J after it
        self.assertAlmostEqual(processors.joules(), 10.5)

    def test_a_part_of_the_processors_does_not_pass_for_all(self):
        os.remove(os.path.join(self.folder, "intel-rapl:0:1", "energy_uj"))
        processors = Processors(self.folder)
        self.assertIsNone(processors.joules())
        self.assertIn("intel-rapl:0:1/energy_uj cannot be read", processors.problem)

    def test_lines_begin_where_the_counts_begin(self):
        energy = Energy(self.folder)
        self.write("intel-rapl:0", "energy_uj", 2_000_000)
        first, second = energy.lines(energy.began + 10)
        self.assertEqual((first["at_ns"], first["processors_j"]), (energy.began, 0.0))
        self.assertEqual((second["at_ns"], second["processors_j"]), (energy.began + 10, 1.0))
        self.assertEqual(len(energy.lines(energy.began + 20)), 1)

    def test_where_nothing_can_be_read_the_reason_is_written_once(self):
        energy = Energy(os.path.join(self.folder, "gone"))
        (line,) = energy.lines(1)
        self.assertIsNone(line["processors_j"])
        self.assertIn("contains no energy counter of a processor", line["problem"])
        self.assertEqual(energy.lines(2), [])

    def test_a_machine_without_nvml_has_no_gpu_energy(self):
        self.assertIsNone(Gpu(0, "no-such-library.so").joules())


@unittest.skipUnless(os.environ.get("LOCKSTEP_FAKE_NVML"), "no stand-in for NVML was built")
class Gpus(unittest.TestCase):
    def gpu(self, number, visible=None):
        with mock.patch.dict(os.environ):
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            if visible is not None:
                os.environ["CUDA_VISIBLE_DEVICES"] = visible
            return Gpu(number, os.environ["LOCKSTEP_FAKE_NVML"])

    def test_that_count_joules_are_read(self):
        gpu = self.gpu(0)
        self.assertEqual(gpu.uuid, "GPU-00000001")
        before = gpu.joules()
        self.assertAlmostEqual(gpu.joules() - before, 3)

    def test_are_found_by_what_cuda_leaves_visible(self):
        self.assertEqual(self.gpu(1, "1,0").uuid, "GPU-00000001")
        self.assertEqual(self.gpu(0, "GPU-00000002").uuid, "GPU-00000002")
        self.assertEqual(self.gpu(0, "MIG-00000002").uuid, "")
        self.assertEqual(self.gpu(2, "0,1").uuid, "")

    def test_that_report_power_alone_have_no_energy(self):
        self.assertIsNone(self.gpu(1).joules())

    def test_a_process_that_trains_on_two_has_no_energy(self):
        energy = Energy("/nowhere")
        energy.trains_on(0)
        energy.trains_on(1)
        self.assertIsNone(energy.gpu)


if __name__ == "__main__":
    unittest.main()
