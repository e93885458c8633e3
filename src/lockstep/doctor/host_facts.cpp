#include "lockstep/doctor/host_facts.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/launch/process/captured_output.h"
#include "lockstep/launch/worker_program.h"
#include "lockstep/measure/others_share.h"

namespace lockstep::doctor {
namespace {

constexpr Seconds kProbeTimeout{60};
constexpr Seconds kVersionTimeout{10};
constexpr std::chrono::milliseconds kBusyInterval{300};
constexpr double kBusyCores = 0.1;
constexpr char kFashionFolder[] = "/usr/share/datasets/fashion-mnist";

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The first line of `program --version`; empty when there is no such program. In `problem`, what
/// it prints where it fails.
std::string version_of(const std::string& program, std::string& problem, const Clock& clock) {
  if (!launch::find_program(program)) return "";
  try {
    launch::ProcessSpec spec;
    spec.program = program;
    spec.arguments = {"--version"};
    const launch::CapturedOutput said = launch::run_captured(spec, kVersionTimeout, clock);
    const std::string line = first_line(said.output);
    if (!said.status.clean()) problem = line.empty() ? program + " fails" : line;
    return line.empty() ? program + ", version unknown" : line;
  } catch (const Error& error) {
    problem = error.what();
    return program;
  }
}

/// Open MPI starts nothing for root unless two variables allow it.
bool refuses_root(const std::string& mpi) {
  return ::geteuid() == 0 && mpi.find("Open MPI") != std::string::npos &&
         (std::getenv("OMPI_ALLOW_RUN_AS_ROOT") == nullptr ||
          std::getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == nullptr);
}

ProbeAnswer parse_probe(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  ProbeAnswer answer;
  answer.torch = json.value("torch", "");
  answer.cuda = json.value("cuda", false);
  answer.backends = json.value("backends", std::vector<std::string>{});
  answer.blas = json.value("blas", "");
  answer.blas_gflops = json.value("blas_gflops", 0.0);
  answer.onednn_gflops = json.value("onednn_gflops", 0.0);
  answer.threads = json.value("threads", 0);
  return answer;
}

std::optional<ProbeAnswer> probe(const std::string& worker, std::vector<std::string> environment,
                                 const Clock& clock, std::string& failure) {
  launch::ProcessSpec spec;
  spec.program = worker;
  spec.arguments = {"probe"};
  // One thread, so that both libraries are compared on the same footing.
  for (const char* name : {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1"}) {
    environment.emplace_back(name);
  }
  spec.environment = std::move(environment);
  spec.separate_errors = true;
  try {
    const launch::CapturedOutput said = launch::run_captured(spec, kProbeTimeout, clock);
    if (said.timed_out) {
      failure = "no answer within " + format_seconds(kProbeTimeout);
    } else if (!said.status.clean()) {
      failure = said.errors.empty() ? fmt::format("exit code {}", said.status.code)
                                    : first_line(said.errors);
    } else {
      return parse_probe(said.output);
    }
  } catch (const Error& problem) {
    failure = problem.what();
  } catch (const nlohmann::json::exception& problem) {
    failure = fmt::format("unexpected answer: {}", problem.what());
  }
  return std::nullopt;
}

void ask_worker(HostFacts& facts, const Clock& clock) {
  const auto worker = launch::find_worker_program();
  if (!worker) return;
  facts.worker_path = *worker;
  facts.probe = probe(*worker, {}, clock, facts.probe_failure);
  const std::vector<std::string> tuned = launch::worker_environment();
  if (!facts.probe || tuned.empty()) return;
  constexpr std::string_view kCoreType = "OPENBLAS_CORETYPE=";
  for (const std::string& variable : tuned) {
    if (variable.starts_with(kCoreType)) facts.core_type = variable.substr(kCoreType.size());
  }
  std::string ignored;
  facts.tuned_probe = probe(*worker, tuned, clock, ignored);
}

void look_at_disk(HostFacts& facts, const std::string& store_path) {
  std::error_code failure;
  const std::filesystem::path whole = std::filesystem::absolute(store_path, failure);
  facts.store_folder = whole.parent_path().string();
  struct statvfs disk {};
  if (::statvfs(facts.store_folder.c_str(), &disk) == 0) {
    facts.free_disk_bytes =
        static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  }
}

std::vector<std::string> gpus(const Clock& clock) {
  std::vector<std::string> found = measure::read_nvidia_gpus();
  if (!found.empty() || !launch::find_program("nvidia-smi")) return found;
  launch::ProcessSpec spec;
  spec.program = "nvidia-smi";
  spec.arguments = {"--query-gpu=name", "--format=csv,noheader"};
  try {
    const launch::CapturedOutput said = launch::run_captured(spec, kVersionTimeout, clock);
    std::istringstream lines(said.status.clean() ? said.output : "");
    for (std::string line; std::getline(lines, line);) found.push_back(line);
  } catch (const Error&) {
    // A driver that does not answer offers no GPU.
  }
  return found;
}

}  // namespace

HostFacts gather_host_facts(const std::string& store_path, const Clock& clock) {
  HostFacts facts;
  // First, before the probes below are what keeps the machine busy.
  const measure::OthersMeter others;
  const measure::ProcessTimes before = measure::read_process_times();
  const Nanoseconds began = clock.monotonic();
  std::this_thread::sleep_for(kBusyInterval);
  const measure::ProcessTimes after = measure::read_process_times();
  const Seconds interval(static_cast<double>(clock.monotonic() - began) * 1e-9);
  facts.others_cpu = others.share().value_or(0);
  facts.busy = measure::busy_between(before, after, interval, kBusyCores, ::getpid());

  std::vector<int> online(static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  std::iota(online.begin(), online.end(), 0);
  facts.online_cores = static_cast<int>(measure::cores_of(online).size());
  facts.usable_cores = measure::usable_cores();
  facts.limits = measure::read_group_limits();
  facts.memory_bytes = measure::read_memory_bytes();
  facts.available_memory_bytes = measure::read_available_memory_bytes();
  facts.cpu = measure::read_cpu();
  facts.governor = measure::read_governor();
  facts.gpus = gpus(clock);
  facts.mpi = version_of("mpirun", facts.mpi_problem, clock);
  facts.mpi_refuses_root = refuses_root(facts.mpi);
  facts.slurm = version_of("srun", facts.slurm_problem, clock);
  look_at_disk(facts, store_path);
  if (std::filesystem::exists(kFashionFolder)) facts.data_folder = kFashionFolder;
  ask_worker(facts, clock);
  return facts;
}

}  // namespace lockstep::doctor
