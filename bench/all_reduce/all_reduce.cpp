// In-host all-reduce: shared memory against Gloo on loopback and against what memory allows.
//
// usage: bench_all_reduce [WORKERS...]       (default 2 4)
//
// Each rank is a process. Both back ends run in alternation; every sum is checked. The memory limit
// is what the same loads and stores take on private memory, run by all ranks at once: each reads
// 1/N of N copies and writes as much. "shares" is the sum of which each rank keeps its 1/N. All
// times are from the first rank's start to the last rank's end: where ranks share cores, a rank's
// own time depends on when it runs.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/comm/backends/c10d/gloo.h"
#include "lockstep/comm/backends/shm/shared_memory.h"
#include "lockstep/comm/backends/sum_across_ranks.h"
#include "lockstep/comm/rendezvous/session.h"
#include "lockstep/measure/step_recorder.h"

namespace {

using namespace lockstep;

constexpr std::size_t kFloats = 11'173'962;
constexpr int kRounds = 15;

struct Times {
  std::vector<double> shm, shares, gloo, memory;
};

/// Seconds from the first rank's start of `work` to the last rank's end.
template <class Work>
double timed(comm::Communicator& comm, const Clock& clock, const Work& work) {
  comm.barrier();
  const Nanoseconds began = clock.monotonic();
  work();
  const Nanoseconds ended = clock.monotonic();
  const auto begins = comm.gather_all(began), ends = comm.gather_all(ended);
  return static_cast<double>(std::ranges::max(ends) - std::ranges::min(begins)) * 1e-9;
}

double timed_sum(comm::Communicator& comm, std::span<float> values, const Clock& clock) {
  std::fill(values.begin(), values.end(), static_cast<float>(comm.rank() + 1));
  const double seconds = timed(comm, clock, [&] {
    comm.start_sum(values);
    comm.finish();
  });
  const auto expected = static_cast<float>(comm.size() * (comm.size() + 1) / 2);
  for (float value : values) {
    if (value != expected) throw Error(ErrorKind::kInternal, "wrong sum");
  }
  return seconds;
}

double timed_shares(comm::Communicator& comm, std::span<float> values, const Clock& clock) {
  return timed(comm, clock, [&] {
    comm.start_sum_of_shares(values);
    comm.finish();
  });
}

/// The same loads and stores as this rank's share of a sum, on memory nobody else touches.
double timed_memory(comm::Communicator& comm, std::vector<std::vector<float>>& copies,
                    const Clock& clock) {
  std::vector<float*> starts;
  for (auto& copy : copies) starts.push_back(copy.data());
  return timed(comm, clock, [&] { comm::sum_across_ranks(starts, copies[0].size()); });
}

Times run_rank(int rank, int size, int fd, const std::string& job) {
  const SystemClock clock;
  comm::Context local{.rank = rank, .size = size};
  // As in training: ranks that share cores do not spin.
  if (size > static_cast<int>(std::thread::hardware_concurrency())) local.spin = Seconds(0);
  const auto shm = comm::make_shared_memory(local, fd);
  comm::SessionOptions options;
  options.place.rank = rank;
  options.place.size = size;
  options.place.rendezvous_host = "127.0.0.1";
  options.secret = comm::compute_mac({}, std::as_bytes(std::span(job)));
  comm::Session session(options);
  const auto gloo = comm::make_gloo(session.context());
  const auto shared = shm->allocate(kFloats);
  const auto plain = gloo->allocate(kFloats);
  std::vector<std::vector<float>> copies(
      static_cast<std::size_t>(size),
      std::vector<float>(kFloats / static_cast<std::size_t>(size), 1e-30F));
  Times times;
  for (int round = 0; round < kRounds + 2; ++round) {
    const double a = timed_sum(*shm, shared, clock);
    const double b = timed_sum(*gloo, plain, clock);
    const double c = timed_memory(*shm, copies, clock);
    const double d = timed_shares(*shm, shared, clock);
    if (round < 2) continue;  // first touches and connections
    times.shm.push_back(a);
    times.gloo.push_back(b);
    times.memory.push_back(c);
    times.shares.push_back(d);
  }
  session.membership().leave();
  return times;
}

void print_row(int size, const Times& times) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < times.shm.size(); ++i) ratios.push_back(times.gloo[i] / times.shm[i]);
  const double bytes = static_cast<double>(kFloats * sizeof(float));
  const double shm = median(times.shm), memory = median(times.memory);
  const double bus = 2.0 * (size - 1) / size * bytes / shm * 1e-9;
  std::vector<double> of_memory;
  for (std::size_t i = 0; i < times.shm.size(); ++i) {
    of_memory.push_back(times.shm[i] / times.memory[i]);
  }
  fmt::print(
      "{:7} {:9.1f} {:12.1f} {:9.1f} {:7.1f} ({:.1f}..{:.1f}) {:12.1f} {:6.2f} ({:.2f}..{:.2f}) "
      "{:8.1f}\n",
      size, shm * 1e3, median(times.shares) * 1e3, median(times.gloo) * 1e3, median(ratios),
      quantile(ratios, 0), quantile(ratios, 1), memory * 1e3, median(of_memory),
      quantile(of_memory, 0.25), quantile(of_memory, 0.75), bus);
}

void compare_backends(int size) {
  const int fd = ::memfd_create("lockstep-bench", MFD_CLOEXEC);
  const std::string job = fmt::format("bench {} {}", ::getpid(), size);
  std::vector<pid_t> children;
  for (int rank = 1; rank < size; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run_rank(rank, size, fd, job);
      ::_exit(0);
    }
    children.push_back(child);
  }
  print_row(size, run_rank(0, size, fd, job));
  for (pid_t child : children) ::waitpid(child, nullptr, 0);
  ::close(fd);
}

void measure_instrumentation() {
  const SystemClock clock;
  measure::StepRecorder recorder(clock, 0);
  constexpr int kSteps = 1'000'000;
  double sink = 0;
  const Nanoseconds began = clock.monotonic();
  for (int i = 0; i < kSteps; ++i) {
    recorder.begin(1, i);
    for (const auto phase :
         {record::Phase::kInputWait, record::Phase::kForward, record::Phase::kBackward,
          record::Phase::kTransfer, record::Phase::kOptimizer}) {
      recorder.end_phase(phase);
    }
    sink += recorder.end(1).total_s;
  }
  const double ns = static_cast<double>(clock.monotonic() - began) / kSteps;
  fmt::print("instrumentation: {:.0f} ns per step, {:.4f} % of a step of 2 ms (checksum {:.3f})\n",
             ns, ns / 2e6 * 100, sink);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty()) sizes = {2, 4};
  fmt::print("all-reduce of {} floats, {:.1f} MB; medians of {} alternating rounds\n", kFloats,
             static_cast<double>(kFloats * sizeof(float)) * 1e-6, kRounds);
  fmt::print(
      "workers  shm (ms)  shares (ms)  gloo (ms)  gloo/shm         memory (ms)  shm/memory "
      "(quartiles)  busbw (GB/s)\n");
  std::fflush(stdout);
  for (int size : sizes) {
    compare_backends(size);
    std::fflush(stdout);
  }
  measure_instrumentation();
}
