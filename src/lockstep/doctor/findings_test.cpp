#include "lockstep/doctor/findings.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep::doctor {
namespace {

/// A machine with nothing to complain about.
HostFacts healthy() {
  HostFacts facts;
  facts.online_cores = 4;
  for (const int cpu : {0, 1, 2, 3}) facts.usable_cores.push_back({{cpu}, 0});
  facts.memory_bytes = 16'000'000'000;
  facts.available_memory_bytes = 12'000'000'000;
  facts.cpu.vendor = "GenuineIntel";
  facts.cpu.model = "A CPU";
  facts.cpu.flags = {"avx2", "fma", "avx512f"};
  facts.governor = "performance";
  facts.worker_path = "/bin/lockstep-worker";
  facts.probe =
      ProbeAnswer{"1.13.1", false, {"shm", "gloo"}, "OpenBLAS 0.3.21 (SkylakeX)", 105, 110, 1};
  facts.mpi = "mpirun (Open MPI) 4.1.4";
  facts.slurm = "slurm 22.05";
  facts.gpus = {"T4"};
  facts.store_folder = "/home";
  facts.free_disk_bytes = 100'000'000'000;
  facts.data_folder = "/data";
  return facts;
}

std::vector<Finding> complaints(const HostFacts& facts) {
  std::vector<Finding> list = examine(facts);
  std::erase_if(list, [](const Finding& finding) { return finding.severity == Severity::kOk; });
  return list;
}

void expect_one(const HostFacts& facts, Severity severity, const std::string& subject,
                const std::string& text) {
  const auto list = complaints(facts);
  ASSERT_EQ(list.size(), 1u) << subject;
  EXPECT_EQ(list[0].severity, severity) << subject;
  EXPECT_EQ(list[0].subject, subject);
  EXPECT_NE((list[0].text + list[0].advice).find(text), std::string::npos)
      << list[0].text << list[0].advice;
}

TEST(Doctor, HasNothingToComplainAboutOnAHealthyMachine) {
  EXPECT_TRUE(complaints(healthy()).empty());
}

TEST(Doctor, ReportsWhatABetterChoiceOfOpenblasKernelsGains) {
  HostFacts facts = healthy();
  facts.probe->blas = "OpenBLAS 0.3.21 (Prescott)";
  facts.probe->blas_gflops = 28;
  facts.tuned_probe = ProbeAnswer{"1.13.1", false, {}, "OpenBLAS 0.3.21 (SkylakeX)", 107, 110, 1};
  facts.core_type = "SkylakeX";
  expect_one(facts, Severity::kNote, "blas",
             "OpenBLAS misdetects this CPU: 28 -> 107 GFLOP/s with OPENBLAS_CORETYPE=SkylakeX; "
             "lockstep sets this for its workers");
}

TEST(Doctor, DoesNotCallNoiseAMisdetection) {
  HostFacts facts = healthy();
  ProbeAnswer tuned = facts.probe.value();
  facts.core_type = "SkylakeX";
  for (const double gain : {1.1, 1.6}) {  // 42 -> 69 GFLOP/s on two cores that compilers kept busy
    tuned.blas_gflops = gain * facts.probe->blas_gflops;
    facts.tuned_probe = tuned;
    EXPECT_TRUE(complaints(facts).empty());
  }
}

TEST(Doctor, WarnsOfAReferenceBlasAndOfASlowOne) {
  HostFacts facts = healthy();
  facts.probe->blas = "reference BLAS";
  facts.probe->blas_gflops = 3;
  expect_one(facts, Severity::kWarn, "blas", "libopenblas0-openmp");
  facts = healthy();
  facts.probe->blas_gflops = 20;
  expect_one(facts, Severity::kWarn, "blas", "far below what this CPU can do");
}

TEST(Doctor, NotesAMissingWorkerAndWarnsOfOneThatDoesNotAnswer) {
  HostFacts facts = healthy();
  facts.worker_path.clear();
  facts.probe.reset();
  expect_one(facts, Severity::kNote, "libtorch", "there is no lockstep-worker");
  facts.worker_path = "/bin/lockstep-worker";
  facts.probe_failure = "libtorch.so: not found";
  expect_one(facts, Severity::kWarn, "libtorch", "libtorch.so: not found");
}

TEST(Doctor, WarnsOfWhatSpoilsTimings) {
  HostFacts facts = healthy();
  facts.others_cpu = 0.4;
  expect_one(facts, Severity::kWarn, "load", "other programs use 40 % of the CPU time");
  facts.others_cpu = 0.1;
  EXPECT_TRUE(complaints(facts).empty());
  facts = healthy();
  facts.busy = {{42, "cc1plus", 0.98}};
  expect_one(facts, Severity::kWarn, "busy", "cc1plus (process 42) keeps 1.0 cores busy");
  facts = healthy();
  facts.governor = "powersave";
  expect_one(facts, Severity::kWarn, "governor", "performance");
  facts = healthy();
  facts.cpu.flags = {"sse4_2"};
  expect_one(facts, Severity::kWarn, "cpu", "AVX2");
  facts = healthy();
  for (measure::Core& core : facts.usable_cores) core.threads.push_back(core.threads[0] + 4);
  expect_one(facts, Severity::kNote, "smt", "4 cores have 8 hardware threads");
  const auto findings = examine(facts);
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.text == "4 usable; node 0: 4 cores, CPUs 0-7";
  }));
}

TEST(Doctor, ReportsWhatLimitsTheCores) {
  HostFacts facts = healthy();
  facts.usable_cores.resize(2);
  expect_one(facts, Severity::kNote, "cores", "2 of 4 usable: the affinity mask");
  facts.limits.cores = 2.5;
  expect_one(facts, Severity::kNote, "cores", "whole cores");
}

TEST(Doctor, WarnsOfLittleMemoryAndDisk) {
  HostFacts facts = healthy();
  facts.limits.memory_bytes = 500'000'000;
  expect_one(facts, Severity::kWarn, "memory", "the control group allows 500 MB");
  facts = healthy();
  facts.free_disk_bytes = 1000;
  expect_one(facts, Severity::kWarn, "disk", "free some space");
  facts.free_disk_bytes = -1;
  expect_one(facts, Severity::kWarn, "disk", "cannot be read");
}

TEST(Doctor, DoesNotTakeUnknownMemoryForNone) {
  HostFacts facts = healthy();
  facts.memory_bytes = 0;
  facts.available_memory_bytes = 0;
  expect_one(facts, Severity::kNote, "memory", "unknown");
}

TEST(Doctor, NotesASlurmWithoutACluster) {
  HostFacts facts = healthy();
  facts.slurm_problem = "srun: fatal: Could not establish a configuration source";
  expect_one(facts, Severity::kNote, "slurm", "configuration source");
}

TEST(Doctor, NotesWhatIsNotInstalled) {
  HostFacts facts = healthy();
  facts.mpi_refuses_root = true;
  expect_one(facts, Severity::kNote, "mpi", "OMPI_ALLOW_RUN_AS_ROOT");
  facts.mpi_refuses_root = false;
  facts.mpi.clear();
  expect_one(facts, Severity::kNote, "mpi", "openmpi-bin");
  facts = healthy();
  facts.slurm.clear();
  expect_one(facts, Severity::kNote, "slurm", "no srun");
  facts = healthy();
  facts.data_folder.clear();
  expect_one(facts, Severity::kNote, "data", "dataset-fashion-mnist");
  facts = healthy();
  facts.gpus.clear();
  expect_one(facts, Severity::kNote, "gpu", "none");
}

}  // namespace
}  // namespace lockstep::doctor
