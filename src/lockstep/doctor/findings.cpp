#include "lockstep/doctor/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/base/units.h"
#include "lockstep/launch/worker_program.h"
#include "lockstep/record/event.h"

namespace lockstep::doctor {
namespace {

constexpr std::int64_t kLittleMemory = 2'000'000'000;
constexpr std::int64_t kLittleDisk = 1'000'000'000;
/// Below this part of what oneDNN reaches on the same cores, a BLAS does not use the vector units.
constexpr double kSlowBlas = 0.4;
/// Gain by the right kernels that shows that OpenBLAS chose the wrong ones.
constexpr double kMisdetected = 1.3;

/// In the name of a BLAS that does not compute on the threads of OpenMP.
constexpr char kOwnThreads[] = "pthreads";
constexpr char kInstallOpenblas[] =
    "apt-get install libopenblas0-openmp, or update-alternatives --config "
    "libblas.so.3-$(uname -m)-linux-gnu";

std::string bytes(std::int64_t count) {
  return format_bytes({static_cast<std::uint64_t>(std::max<std::int64_t>(0, count))});
}

Finding cores(const HostFacts& facts) {
  const int usable = static_cast<int>(facts.usable_cores.size());
  if (facts.limits.cores && *facts.limits.cores < facts.online_cores) {
    return {Severity::kNote, "cores",
            fmt::format("{} of {} usable: the control group allows {:.2g}", usable,
                        facts.online_cores, *facts.limits.cores),
            std::floor(*facts.limits.cores) == *facts.limits.cores
                ? ""
                : "a fraction of a core makes timings vary: give the group whole cores"};
  }
  if (usable < facts.online_cores) {
    return {Severity::kNote, "cores",
            fmt::format("{} of {} usable: the affinity mask or the Slurm job leaves out the others",
                        usable, facts.online_cores),
            "taskset or the job's settings decide this"};
  }
  // On the usual small machine there is nothing to map.
  const std::vector<std::string> nodes = measure::describe_nodes(facts.usable_cores);
  const bool plain = nodes.size() <= 1 && measure::hardware_threads(facts.usable_cores) <= usable;
  return {Severity::kOk, "cores",
          plain ? fmt::format("{} usable", usable)
                : fmt::format("{} usable; {}", usable, fmt::join(nodes, "; ")),
          ""};
}

Finding cpu(const HostFacts& facts) {
  std::string vector_flags;
  bool avx2 = false;
  for (const char* flag : {"sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16",
                           "amx_tile", "asimd", "sve"}) {
    const auto& flags = facts.cpu.flags;
    if (std::find(flags.begin(), flags.end(), flag) == flags.end()) continue;
    vector_flags += (vector_flags.empty() ? "" : " ") + std::string(flag);
    avx2 = avx2 || std::string_view(flag) == "avx2" || std::string_view(flag) == "asimd";
  }
  const std::string text =
      fmt::format("{} ({})", facts.cpu.model.empty() ? "unknown" : facts.cpu.model,
                  vector_flags.empty() ? "no vector flags" : vector_flags);
  if (avx2 || facts.cpu.flags.empty()) return {Severity::kOk, "cpu", text, ""};
  return {Severity::kWarn, "cpu", text + ": without AVX2 training is several times slower",
          "in a virtual machine, pass the host's CPU through"};
}

Finding memory(const HostFacts& facts) {
  if (facts.memory_bytes <= 0) {
    return {Severity::kNote, "memory", "unknown: /proc is not mounted here", ""};
  }
  std::string text = fmt::format("{}, {} available", bytes(facts.memory_bytes),
                                 bytes(facts.available_memory_bytes));
  if (facts.limits.memory_bytes) {
    text += fmt::format(", the control group allows {}", bytes(*facts.limits.memory_bytes));
  }
  const std::int64_t available =
      std::min(facts.available_memory_bytes,
               facts.limits.memory_bytes.value_or(facts.available_memory_bytes));
  if (available >= kLittleMemory) return {Severity::kOk, "memory", text, ""};
  return {Severity::kWarn, "memory", text,
          "a worker may be killed for lack of memory: use fewer workers or a smaller batch"};
}

Finding threads(const HostFacts& facts) {
  const int threads = measure::hardware_threads(facts.usable_cores);
  if (threads <= static_cast<int>(facts.usable_cores.size()))
    return {Severity::kOk, "smt", "each core runs one hardware thread", ""};
  return {Severity::kNote, "smt",
          fmt::format("{} cores have {} hardware threads: by default a worker gets whole cores",
                      facts.usable_cores.size(), threads),
          "more workers than cores share them, and gain little"};
}

Finding governor(const HostFacts& facts) {
  if (facts.governor.empty()) {
    return {Severity::kOk, "governor", "none visible, as in most virtual machines", ""};
  }
  const std::string text = "CPU frequency governor '" + facts.governor + "'";
  if (facts.governor == "performance") return {Severity::kOk, "governor", text, ""};
  return {facts.governor == "powersave" ? Severity::kWarn : Severity::kNote, "governor",
          text + ": the clock follows the load, so timings vary",
          "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"};
}

void load(const HostFacts& facts, std::vector<Finding>& findings) {
  const std::string text =
      fmt::format("other programs use {:.0f} % of the CPU time", 100 * facts.others_cpu);
  if (facts.others_cpu >= record::kDisturbingShare) {
    findings.push_back({Severity::kWarn, "load", text + ": they slow down a run",
                        "wait until they are done, or measure on a quiet machine"});
  } else {
    findings.push_back({Severity::kOk, "load", text, ""});
  }
  constexpr std::size_t kMostListed = 5;
  for (std::size_t i = 0; i < std::min(kMostListed, facts.busy.size()); ++i) {
    const measure::BusyProcess& process = facts.busy[i];
    findings.push_back({Severity::kWarn, "busy",
                        fmt::format("{} (process {}) keeps {:.1f} cores busy", process.name,
                                    process.pid, process.cores),
                        ""});
  }
}

void torch(const HostFacts& facts, std::vector<Finding>& findings) {
  if (facts.worker_path.empty()) {
    findings.push_back({Severity::kNote, "libtorch",
                        "there is no lockstep-worker: everything works except lockstep train",
                        launch::kHowToGetWorker});
    return;
  }
  if (!facts.probe) {
    findings.push_back({Severity::kWarn, "libtorch",
                        fmt::format("{} probe failed: {}", facts.worker_path, facts.probe_failure),
                        "run it manually to see why"});
    return;
  }
  findings.push_back(
      {Severity::kOk, "libtorch",
       fmt::format("{}, back ends {}{}", facts.probe->torch, fmt::join(facts.probe->backends, " "),
                   facts.probe->cuda ? ", CUDA" : ""),
       ""});
}

/// Libraries that are written for speed; what is not one of them is the reference BLAS.
bool is_fast_library(const std::string& blas) {
  constexpr std::array<const char*, 4> kFast{"OpenBLAS", "MKL", "BLIS", "ARMPL"};
  return std::any_of(kFast.begin(), kFast.end(),
                     [&](const char* name) { return blas.find(name) != std::string::npos; });
}

void blas(const HostFacts& facts, std::vector<Finding>& findings) {
  if (!facts.probe) return;
  const ProbeAnswer& plain = *facts.probe;
  const ProbeAnswer& used = facts.tuned_probe ? *facts.tuned_probe : plain;
  const std::string text = fmt::format("{}, {:.0f} GFLOP/s on one thread (oneDNN {:.0f})",
                                       used.blas, used.blas_gflops, used.onednn_gflops);
  if (!is_fast_library(used.blas)) {
    findings.push_back({Severity::kWarn, "blas",
                        text + ": linear layers are up to 30 times slower than with OpenBLAS",
                        kInstallOpenblas});
    return;
  }
  const bool slow = used.onednn_gflops > 0 && used.blas_gflops < kSlowBlas * used.onednn_gflops;
  findings.push_back({slow ? Severity::kWarn : Severity::kOk, "blas",
                      slow ? text + ": far below what this CPU can do" : text,
                      slow ? kInstallOpenblas : ""});
  if (used.blas.find(kOwnThreads) != std::string::npos) {
    findings.push_back(
        {Severity::kNote, "blas",
         "OpenBLAS has threads of its own, which compete with those of LibTorch: a "
         "worker with several threads may be slower than one with a single thread",
         "apt-get install libopenblas0-openmp; lockstep then uses it for its workers"});
  }
  // The name contains the kernels that were chosen: the same ones differ by chance only.
  if (facts.tuned_probe && !facts.core_type.empty() && plain.blas != used.blas &&
      plain.blas_gflops > 0 && used.blas_gflops > kMisdetected * plain.blas_gflops) {
    findings.push_back({Severity::kNote, "blas",
                        fmt::format("OpenBLAS misdetects this CPU: {:.0f} -> {:.0f} GFLOP/s with "
                                    "OPENBLAS_CORETYPE={}; lockstep sets this for its workers",
                                    plain.blas_gflops, used.blas_gflops, facts.core_type),
                        "export it yourself for other programs"});
  }
}

Finding tool(const std::string& subject, const std::string& version, const std::string& problem,
             const std::string& missing, const std::string& advice) {
  if (!problem.empty()) {
    return {Severity::kNote, subject, "installed, but reports: " + problem,
            "configure it, or start workers with another --launcher"};
  }
  if (!version.empty()) return {Severity::kOk, subject, version, ""};
  return {Severity::kNote, subject, missing, advice};
}

Finding mpi(const HostFacts& facts) {
  if (facts.mpi_refuses_root && facts.mpi_problem.empty()) {
    return {
        Severity::kNote, "mpi", facts.mpi + ", which refuses to run as root",
        "use another user, or export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  }
  return tool("mpi", facts.mpi, facts.mpi_problem,
              "no mpirun in PATH: --launcher mpi cannot be used",
              "apt-get install openmpi-bin, or load your cluster's MPI module");
}

Finding disk(const HostFacts& facts) {
  if (facts.free_disk_bytes < 0) {
    return {Severity::kWarn, "disk", facts.store_folder + " cannot be read",
            "choose a file in an existing folder with --store"};
  }
  const std::string text =
      fmt::format("{} free for the store in {}", bytes(facts.free_disk_bytes), facts.store_folder);
  if (facts.free_disk_bytes >= kLittleDisk) return {Severity::kOk, "disk", text, ""};
  return {Severity::kWarn, "disk", text, "free some space or choose another place with --store"};
}

}  // namespace

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kWarn:
      break;
  }
  return "warn";
}

std::vector<Finding> examine(const HostFacts& facts) {
  std::vector<Finding> findings{cores(facts), cpu(facts), threads(facts), memory(facts),
                                governor(facts)};
  load(facts, findings);
  torch(facts, findings);
  blas(facts, findings);
  findings.push_back(
      facts.gpus.empty()
          ? Finding{Severity::kNote, "gpu", "none", ""}
          : Finding{Severity::kOk, "gpu", fmt::format("{}", fmt::join(facts.gpus, ", ")), ""});
  findings.push_back(mpi(facts));
  findings.push_back(tool("slurm", facts.slurm, facts.slurm_problem,
                          "no srun in PATH: --launcher slurm cannot be used",
                          "on a cluster, run lockstep where sbatch works"));
  findings.push_back(disk(facts));
  findings.push_back(
      facts.data_folder.empty()
          ? Finding{Severity::kNote, "data", "Fashion-MNIST is not installed",
                    "apt-get install dataset-fashion-mnist, or train with --data"}
          : Finding{Severity::kOk, "data", "Fashion-MNIST in " + facts.data_folder, ""});
  return findings;
}

}  // namespace lockstep::doctor
