// A stand-in for lockstep-worker that follows its contract without LibTorch: ranks go through their
// steps in lockstep over the shared segment, and one of them can be made to misbehave.
//
//   FAKE_WORKER=rank:step:deed   which rank does what when; deeds are listed in misbehave()
//   FAKE_WORKER_EARLY=deed       every rank does that before the run begins
//   FAKE_WORKER_EARLY_ONCE=FILE  only if there is no such file yet, which it makes
//   FAKE_WORKER_FITS=b           batches per worker above that run out of memory
//   FAKE_WORKER_STEPS=n          steps per epoch (20)
//   FAKE_WORKER_STEP_MS=n        duration of a step (1)
//   FAKE_WORKER_PIDS=DIR         each rank leaves a file named after its process id there
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/record/event.h"
#include "train_options.h"

namespace {

using namespace lockstep;

constexpr int kMostRanks = 64;

volatile std::sig_atomic_t interrupted = 0;

std::string variable(const char* name, const std::string& otherwise = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

int number(const char* name, int otherwise = -1) {
  return std::stoi(variable(name, std::to_string(otherwise)));
}

void pause_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

void send(const record::Event& event) {
  const std::string line = record::to_line(event) + "\n";
  const int fd = number("LOCKSTEP_EVENT_FD");
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(fd, line.data() + at, line.size() - at);
    if (written <= 0) std::_Exit(9);
    at += static_cast<std::size_t>(written);
  }
}

struct Shared {
  std::atomic<std::int64_t> done[kMostRanks];
  std::atomic<std::int64_t> stop_at;  ///< the step after which all stop; 0 = none
};

Shared& shared_segment() {
  const int fd = number("LOCKSTEP_SHM_FD");
  if (::ftruncate(fd, sizeof(Shared)) != 0) throw Error(ErrorKind::kInternal, "no shared segment");
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) throw Error(ErrorKind::kInternal, "cannot map the shared segment");
  return *static_cast<Shared*>(memory);
}

class FakeRun {
 public:
  explicit FakeRun(record::TrainRequest request) : request_(std::move(request)) {
    steps_per_epoch_ = number("FAKE_WORKER_STEPS", 20);
    if (const std::string plan = variable("FAKE_WORKER"); !plan.empty()) {
      const std::size_t first = plan.find(':');
      const std::size_t second = plan.find(':', first + 1);
      deed_rank_ = std::stoi(plan.substr(0, first));
      deed_step_ = std::stoi(plan.substr(first + 1, second - first - 1));
      deed_ = plan.substr(second + 1);
    }
  }

  void run() {
    const std::string once = variable("FAKE_WORKER_EARLY_ONCE");
    const bool again = !once.empty() && std::ifstream(once).good();
    if (const std::string deed = variable("FAKE_WORKER_EARLY"); !deed.empty() && !again) {
      if (!once.empty()) std::ofstream(once) << "done";
      deed_ = deed;
      misbehave();
    }
    if (rank_ == 0) send(started());
    const int fits = number("FAKE_WORKER_FITS", 0);
    if (fits > 0 && request_.spec.batch_per_worker > fits) {
      throw Error(ErrorKind::kMemory, "out of memory", "use a smaller batch");
    }
    std::int64_t step = 0;
    record::RunEnded ended;
    for (int epoch = 1; epoch <= request_.spec.epochs && !stopped_; ++epoch) {
      for (int in_epoch = 1; in_epoch <= steps_per_epoch_ && !stopped_; ++in_epoch) {
        one_step(epoch, in_epoch, step++);
      }
      if (rank_ == 0 && !stopped_) send(epoch_result(epoch));
    }
    if (rank_ != 0) return;
    if (stopped_) ended.status = record::RunStatus::kInterrupted;
    ended.ended_wall_ns = clock_.wall();
    ended.total_s = 1.5;
    ended.peak_memory_bytes = 123'000'000;
    ended.parameters_digest = "none";
    send(ended);
  }

 private:
  record::RunStarted started() const {
    record::RunStarted event;
    event.spec = request_.spec;
    event.spec.data.name = "nothing";
    event.spec.data.train_examples = steps_per_epoch_ * request_.spec.global_batch();
    event.machine.cores = 1;  // as one that is pinned sees it
    event.started_wall_ns = clock_.wall();
    event.steps_per_epoch = steps_per_epoch_;
    return event;
  }

  record::EpochResult epoch_result(int epoch) const {
    record::EpochResult result;
    result.epoch = epoch;
    result.train_loss = 1.0 / epoch;
    result.val_accuracy = 0.5;
    result.examples = steps_per_epoch_ * request_.spec.global_batch();
    result.train_s = 0.5;
    result.examples_per_s = static_cast<double>(result.examples) / result.train_s;
    return result;
  }

  void one_step(int epoch, int in_epoch, std::int64_t step) {
    const std::int64_t start = clock_.monotonic();
    pause_ms(number("FAKE_WORKER_STEP_MS", 1));
    if (rank_ == deed_rank_ && step == deed_step_) misbehave();
    const std::int64_t ready = clock_.monotonic();
    meet_others(step);
    if (rank_ == 0) {
      send(record::Progress{epoch, in_epoch, steps_per_epoch_, 1000, 0.5});
      send(times(epoch, step, start, ready));
    }
  }

  record::StepBlock times(int epoch, std::int64_t step, std::int64_t start,
                          std::int64_t ready) const {
    record::StepBlock block;
    for (int rank = 0; rank < world_; ++rank) {
      record::StepTimes one;
      one.rank = rank;
      one.epoch = epoch;
      one.step = step;
      one.start_ns = start;
      one.ready_ns = world_ > 1 ? ready + rank : 0;
      one.total_s = 0.010;
      one[record::Phase::kForward] = 0.004;
      one[record::Phase::kBackward] = 0.006;
      block.steps.push_back(one);
    }
    return block;
  }

  /// All ranks finish a step together or complain about the one that does not come.
  void meet_others(std::int64_t step) {
    if (rank_ == 0 && interrupted != 0) shared_.stop_at = step + 1;
    shared_.done[rank_] = step + 1;
    const std::int64_t deadline =
        clock_.monotonic() + static_cast<std::int64_t>(request_.timeout_s * 1e9);
    for (int other = 0; other < world_; ++other) {
      const std::int64_t began = clock_.monotonic();
      while (shared_.done[other] < step + 1) {
        // An interrupt that came before another rank was ready for it has killed that rank.
        const bool gone = interrupted != 0 && clock_.monotonic() - began > 1'000'000'000;
        if (gone || clock_.monotonic() > deadline) {
          throw Error(ErrorKind::kPeer,
                      fmt::format("rank {} did not come to step {}", other, step));
        }
        pause_ms(1);
      }
    }
    stopped_ = shared_.stop_at != 0 && shared_.stop_at <= step + 1;
  }

  [[noreturn]] static void hang() {
    while (true) ::pause();
  }

  void misbehave() {
    if (deed_ == "abort") std::abort();
    if (deed_ == "kill9") ::raise(SIGKILL);
    if (deed_ == "exit7") std::_Exit(7);
    if (deed_ == "leave") std::_Exit(0);
    if (deed_ == "hang") hang();
    if (deed_ == "stubborn") {
      for (const int ignored : {SIGTERM, SIGINT}) std::signal(ignored, SIG_IGN);
      fmt::print("will not stop\n");
      std::fflush(stdout);
      hang();
    }
    if (deed_ == "garbage") {
      const std::string text = "this is no record\n";
      [[maybe_unused]] const auto n =
          ::write(number("LOCKSTEP_EVENT_FD"), text.data(), text.size());
      hang();
    }
    if (deed_ == "peer") throw Error(ErrorKind::kPeer, "some rank is gone");
    if (deed_ == "data") {
      throw Error(ErrorKind::kData, "images.gz: truncated at byte 4711", "download the file again");
    }
    if (deed_ == "environment") throw Error(ErrorKind::kEnvironment, "no memory left");
    if (deed_ == "usage") throw Error(ErrorKind::kUsage, "there is no such recipe");
    if (deed_ == "nan") {
      throw Error(ErrorKind::kWorker, "the loss is nan in step 5", "add --keep-going to go on");
    }
    if (deed_ == "endless") {
      const std::string piece(1 << 20, 'x');
      for (int i = 0; i < 16; ++i) {
        [[maybe_unused]] const auto n = ::write(STDOUT_FILENO, piece.data(), piece.size());
      }
    }
    if (deed_ == "talk") fmt::print("hello from the worker\n");
    if (deed_ == "last-words") {
      fmt::print("alas\n");
      std::fflush(stdout);
      std::abort();
    }
    if (deed_ == "surroundings") show_surroundings();
  }

  void show_surroundings() const {
    for (const char* name :
         {"OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "LOCKSTEP_LOCAL_RANK", "LOCKSTEP_LOCAL_SIZE"}) {
      fmt::print("{}={}\n", name, variable(name));
    }
    fmt::print("a secret of {} digits\n", variable("LOCKSTEP_SECRET").size());
  }

  record::TrainRequest request_;
  SystemClock clock_;
  Shared& shared_ = shared_segment();
  int rank_ = number("LOCKSTEP_RANK");
  int world_ = number("LOCKSTEP_WORLD_SIZE");
  int steps_per_epoch_ = 0;
  int deed_rank_ = -1;
  std::int64_t deed_step_ = -1;
  std::string deed_;
  bool stopped_ = false;
};

int train(const record::TrainRequest& request) {
  const int rank = number("LOCKSTEP_RANK");
  std::signal(SIGINT, [](int) { interrupted = 1; });
  if (const std::string folder = variable("FAKE_WORKER_PIDS"); !folder.empty()) {
    std::ofstream(fmt::format("{}/{}", folder, ::getpid())) << rank;
  }
  try {
    FakeRun(request).run();
    return 0;
  } catch (const Error& error) {
    send(record::WorkerError{rank, std::string(kind_name(error.kind())), error.what(),
                             error.hint()});
    return exit_code(error.kind());
  }
}

int probe() {
  // The selected kernels make this one fast.
  const std::string core = variable("OPENBLAS_CORETYPE", "Prescott");
  const nlohmann::json answer{{"torch", "1.13.1"},
                              {"cuda", false},
                              {"backends", {"shm", "gloo"}},
                              {"blas", "OpenBLAS 0.3.21 (" + core + ")"},
                              {"blas_gflops", core == "Prescott" ? 25 : 100},
                              {"onednn_gflops", 110},
                              {"threads", 1}};
  fmt::print("{}\n", answer.dump());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app;
  record::TrainRequest request;
  app.set_version_flag("--version", "lockstep-worker 0, LibTorch 1.13.1");
  CLI::App* train_command = app.add_subcommand("train");
  cli::add_train_options(*train_command, request);
  CLI::App* probe_command = app.add_subcommand("probe");
  CLI::App* names_command = app.add_subcommand("names");
  CLI11_PARSE(app, argc, argv);
  if (*names_command) {
    fmt::print("{}\n", R"({"recipes":["fashion"]})");
    return 0;
  }
  return *probe_command ? probe() : train(request);
}
