#include "lockstep/job.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>

#include "lockstep/library/job_state.h"
#include "lockstep/library/rank_starter.h"
#include "lockstep/measure/core_map.h"
#include "lockstep/record/worker_environment.h"

namespace lockstep {
namespace {

namespace environment = record::worker_environment;

/// For the handler below: the job of this process, where it has one.
std::weak_ptr<library::JobState> current_job;
std::terminate_handler former_handler = nullptr;

std::string rank_prefix() {
  const auto job = current_job.lock();
  if (!job || job->place().size == 1) return "";
  return fmt::format("[rank {}/{}] ", job->place().rank, job->place().size);
}

/// LibTorch's errors have a back trace, which Python too shows only on request.
std::string text_of(const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  if (torch == nullptr || std::getenv("TORCH_SHOW_CPP_STACKTRACES") != nullptr) return error.what();
  return torch->what_without_backtrace();
}

/// Prints the exception that nobody caught as one error, reports it to the other ranks and ends the
/// process.
[[noreturn]] void end_by_exception() {
  int code = exit_code(ErrorKind::kWorker);
  try {
    const auto job = current_job.lock();
    try {
      if (std::current_exception()) throw;
    } catch (const Error& error) {
      code = exit_code(error.kind());
      std::fputs((rank_prefix() + format_error(error)).c_str(), stderr);
      if (job) job->report(error);
    } catch (const std::exception& error) {
      const std::string text = text_of(error);
      const std::string first = text.substr(0, text.find('\n'));
      std::fputs(fmt::format("{}error: {}\n", rank_prefix(), text).c_str(), stderr);
      if (job) {
        job->report(Error(ErrorKind::kWorker, fmt::format("rank {}: {}", job->place().rank, first),
                          "see its output"));
      }
    } catch (...) {
      const std::string text = "an exception that is not a std::exception";
      std::fputs(fmt::format("{}error: {}\n", rank_prefix(), text).c_str(), stderr);
      if (job) {
        job->report(Error(ErrorKind::kWorker, fmt::format("rank {}: {}", job->place().rank, text)));
      }
    }
    if (job) job->close();
  } catch (...) {
    if (former_handler) former_handler();
  }
  std::fflush(nullptr);
  ::_exit(code);
}

/// A rank that calls exit() leaves the others waiting.
void report_exit() {
  const auto job = current_job.lock();
  if (!job || job->place().size == 1) return;
  job->report(Error(ErrorKind::kWorker,
                    fmt::format("rank {} called exit() before its job ended", job->place().rank),
                    "return from main, or throw an exception"));
  job->close();
}

const char* variable(const char* name) {
  return std::getenv(name);
}

int workers_to_start() {
  const char* text = variable(environment::kWorkers);
  if (text == nullptr || *text == '\0') return 1;
  int workers = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, problem] = std::from_chars(text, end, workers);
  if (problem != std::errc() || stop != end || workers < 1) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{}='{}' is not a number of ranks", environment::kWorkers, text),
                "for example LOCKSTEP_WORKERS=4");
  }
  return workers;
}

JoinOptions with_environment(JoinOptions options) {
  if (const char* text = variable(environment::kTimeout); text != nullptr && *text != '\0') {
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (*end != '\0' || !(seconds > 0)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("{}='{}' is not a time in seconds", environment::kTimeout, text),
                  "for example LOCKSTEP_TIMEOUT=60");
    }
    options.timeout = std::chrono::duration<double>(seconds);
  }
  if (const char* text = variable(environment::kBackend); text != nullptr && *text != '\0')
    options.backend = text;
  return options;
}

/// Threads for an equal share of the cores, where nothing limited them: by default every rank would
/// start one per core of the host.
void limit_threads(const comm::Placement& place) {
  if (place.local_size == 1 || variable("OMP_NUM_THREADS") != nullptr) return;
  const auto cores = static_cast<int>(measure::usable_cores().size());
  const int threads = std::max(1, measure::bound_to_cores() ? cores : cores / place.local_size);
  at::set_num_threads(threads);
  using SetThreads = void(int);
  if (auto* set =
          reinterpret_cast<SetThreads*>(::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) {
    set(threads);
  }
}

void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_TOP_PAD, 64 << 20);
}

std::span<std::byte> bytes_of(torch::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

/// Throws kUsage, the same on every rank. Collective.
void require_equal_sizes(std::string_view function, std::size_t bytes,
                         comm::Communicator& communicator) {
  const auto sizes = communicator.gather_all(static_cast<std::uint64_t>(bytes));
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    if (sizes[r] == sizes[0]) continue;
    throw Error(
        ErrorKind::kUsage,
        fmt::format("{}(): rank {} gave {} bytes, rank 0 {}", function, r, sizes[r], sizes[0]),
        "tensors must have the same shape and type on all ranks");
  }
}

void require_rank(std::string_view function, int rank, library::JobState& state) {
  if (rank >= 0 && rank < state.place().size) return;
  state.fail(Error(ErrorKind::kUsage, fmt::format("{}(): there is no rank {}", function, rank),
                   fmt::format("ranks are numbered from 0 to {}", state.place().size - 1)));
}

}  // namespace

Job join(int argc, char** argv, const JoinOptions& options) {
  (void)argc;
  former_handler = std::set_terminate(end_by_exception);
  const comm::Placement place = comm::placement_from_environment(variable);
  if (place.starter.empty()) {
    if (const int workers = workers_to_start(); workers > 1) library::start_ranks(workers, argv);
  }
  std::signal(SIGPIPE, SIG_IGN);
  if (place.starter == "openmpi") ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (options.keep_freed_memory) keep_freed_memory();
  limit_threads(place);
  auto state = std::make_shared<library::JobState>(place, with_environment(options));
  current_job = state;
  std::atexit(report_exit);
  return Job(std::move(state));
}

Job::Job(std::shared_ptr<library::JobState> state) : state_(std::move(state)) {}

int Job::rank() const {
  return state_->place().rank;
}
int Job::size() const {
  return state_->place().size;
}
int Job::local_rank() const {
  return state_->place().local_rank;
}
int Job::local_size() const {
  return state_->place().local_size;
}

torch::Device Job::device() const {
  return state_->device();
}

std::string Job::backend() const {
  return std::string(record::name_of(state_->communicator().backend()));
}

void Job::barrier() {
  state_->collective([&] { state_->communicator().barrier(); });
}

std::vector<double> Job::gather(double value) {
  return state_->collective([&] { return state_->communicator().gather_all(value); });
}

double Job::sum(double value) {
  double total = 0;
  for (const double one : gather(value)) total += one;
  return total;
}

torch::Tensor Job::gather(const torch::Tensor& tensor) {
  const auto mine = tensor.detach().cpu().contiguous();
  std::vector<std::int64_t> shape = mine.sizes().vec();
  shape.insert(shape.begin(), size());
  auto all = torch::empty(shape, mine.options());
  const auto bytes = std::span(static_cast<const std::byte*>(mine.data_ptr()), mine.nbytes());
  state_->collective([&] {
    require_equal_sizes("gather", bytes.size(), state_->communicator());
    state_->communicator().all_gather(bytes, bytes_of(all));
  });
  return all.to(tensor.device());
}

void Job::sum_(torch::Tensor& tensor) {
  const torch::NoGradGuard no_grad;
  if (size() == 1) return;
  if (state_->device_sum().takes(tensor)) {
    state_->collective([&] { state_->device_sum().sum(std::span(&tensor, 1)); });
  } else {
    tensor.copy_(gather(tensor).sum(0, false, tensor.scalar_type()));
  }
}

void Job::mean_(torch::Tensor& tensor) {
  sum_(tensor);
  const torch::NoGradGuard no_grad;
  tensor.div_(size());
}

void Job::broadcast_(torch::Tensor& tensor, int root) {
  const torch::NoGradGuard no_grad;
  require_rank("broadcast_", root, *state_);
  auto on_host = tensor.detach().cpu().contiguous();
  state_->collective([&] {
    require_equal_sizes("broadcast_", on_host.nbytes(), state_->communicator());
    state_->communicator().broadcast(bytes_of(on_host), root);
  });
  if (on_host.data_ptr() != tensor.data_ptr()) tensor.copy_(on_host);
}

std::string Job::broadcast(const std::string& bytes, int root) {
  require_rank("broadcast", root, *state_);
  std::string out = bytes;
  state_->collective([&] {
    auto length = static_cast<std::uint64_t>(bytes.size());
    state_->communicator().broadcast(std::as_writable_bytes(std::span(&length, 1)), root);
    out.resize(length);
    state_->communicator().broadcast(std::as_writable_bytes(std::span(out)), root);
  });
  return out;
}

Sampler Job::sampler(std::size_t examples, std::uint64_t seed, SamplerOptions options) const {
  return {examples, rank(), size(), seed, options};
}

void Job::print(const std::string& line) const {
  if (!is_main()) return;
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void Job::log(const std::string& name, double value) {
  state_->watch().log(name, value);
}

void Job::set_epoch(int epoch) {
  state_->watch().set_epoch(epoch);
}

void Job::begin_epoch() {
  state_->watch().begin_epoch();
}
void Job::before_fetch() {
  state_->watch().before_fetch();
}
void Job::after_fetch(std::int64_t examples) {
  state_->watch().after_fetch(examples);
}

Job::StepTimer::StepTimer(Job& job) : job_(job) {
  job_.state_->watch().before_optimizer();
}
Job::StepTimer::~StepTimer() {
  job_.state_->watch().after_optimizer();
}

}  // namespace lockstep
