#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/measure/busy_processes.h"
#include "lockstep/measure/core_map.h"
#include "lockstep/measure/machine.h"

namespace lockstep::doctor {

/// What `lockstep-worker probe` reports about LibTorch and its BLAS.
struct ProbeAnswer {
  std::string torch;
  bool cuda = false;
  std::vector<std::string> backends;
  std::string blas;          ///< library and kernels: "OpenBLAS 0.3.21 (Zen)"
  double blas_gflops = 0;    ///< single-precision matrix product, one thread
  double onednn_gflops = 0;  ///< the same through oneDNN, which chooses its kernels by CPU flags
  int threads = 0;
};

/// Everything the doctor looks at, gathered before anything is evaluated.
struct HostFacts {
  int online_cores = 0;
  std::vector<measure::Core> usable_cores;
  measure::GroupLimits limits;
  std::int64_t memory_bytes = 0;
  std::int64_t available_memory_bytes = 0;
  measure::CpuFacts cpu;
  std::string governor;
  double others_cpu = 0;  ///< part of the CPU time that other programs use now, 0 to 1
  std::vector<measure::BusyProcess> busy;
  std::vector<std::string> gpus;

  std::string worker_path;                 ///< empty when there is none
  std::string probe_failure;               ///< why it gave no answer
  std::optional<ProbeAnswer> probe;        ///< with the environment as it is
  std::optional<ProbeAnswer> tuned_probe;  ///< with `core_type`, as workers get it
  std::string core_type;                   ///< OPENBLAS_CORETYPE that fits; empty when none is set

  std::string mpi;                ///< first line of mpirun --version; empty when there is none
  std::string slurm;              ///< likewise of srun --version
  bool mpi_refuses_root = false;  ///< mpirun of Open MPI, called by root without its permission
  std::string mpi_problem;        ///< what mpirun says where it is installed and fails
  std::string slurm_problem;
  std::string store_folder;
  std::int64_t free_disk_bytes = -1;  ///< negative when unknown
  std::string data_folder;            ///< of Fashion-MNIST; empty when it is not installed
};

enum class Severity { kOk, kNote, kWarn };

/// "ok", "note", "warn".
const char* severity_name(Severity severity);

/// One line of the doctor's report.
struct Finding {
  Severity severity = Severity::kOk;
  std::string subject;
  std::string text;
  std::string advice;  ///< what to do; empty when there is nothing to do
};

/// Judges the facts. kWarn is what spoils measurements or makes training slow, kNote what is absent
/// or was put right.
std::vector<Finding> examine(const HostFacts& facts);

}  // namespace lockstep::doctor
