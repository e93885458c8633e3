// In-host all-reduce: shared memory against Gloo on loopback and against what memory allows.
//
// usage: bench_all_reduce [WORKERS...]       (default 2 4)
//
// Each rank is a process. Both back ends run in alternation; every sum is checked. The memory limit
// is what a rank's share of the traffic (read all copies, write all copies: 2 S bytes in all ranks'
// shares together a rank) would take at the bandwidth of a plain read-add-write loop over the same
// memory, run by all ranks at once.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
  std::vector<double> shm, gloo, memory;
};

double timed_sum(comm::Communicator& comm, std::span<float> values, const Clock& clock) {
  std::fill(values.begin(), values.end(), static_cast<float>(comm.rank() + 1));
  comm.barrier();
  const Nanoseconds began = clock.monotonic();
  comm.start_sum(values);
  comm.finish();
  const double seconds = static_cast<double>(clock.monotonic() - began) * 1e-9;
  const auto expected = static_cast<float>(comm.size() * (comm.size() + 1) / 2);
  for (float value : values) {
    if (value != expected) throw Error(ErrorKind::kInternal, "wrong sum");
  }
  return seconds;
}

/// The same loads and stores as this rank's share of a sum, on memory nobody else touches.
double timed_memory(comm::Communicator& comm, std::vector<std::vector<float>>& copies,
                    const Clock& clock) {
  std::vector<float*> starts;
  for (auto& copy : copies) starts.push_back(copy.data());
  comm.barrier();
  const Nanoseconds began = clock.monotonic();
  comm::sum_across_ranks(starts, copies[0].size());
  return static_cast<double>(clock.monotonic() - began) * 1e-9;
}

Times run_rank(int rank, int size, int fd, const std::string& job) {
  const SystemClock clock;
  const auto shm = comm::make_shared_memory({.rank = rank, .size = size}, fd);
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
    if (round < 2) continue;  // first touches and connections
    times.shm.push_back(a);
    times.gloo.push_back(b);
    times.memory.push_back(c);
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
  fmt::print("{:7} {:9.1f} {:9.1f} {:7.1f} ({:.1f}..{:.1f}) {:12.1f} {:10.2f} {:11.1f}\n", size,
             shm * 1e3, median(times.gloo) * 1e3, median(ratios), quantile(ratios, 0),
             quantile(ratios, 1), memory * 1e3, shm / memory, bus);
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
      "workers  shm (ms)  gloo (ms)  gloo/shm         memory (ms)  shm/memory  busbw (GB/s)\n");
  std::fflush(stdout);
  for (int size : sizes) {
    compare_backends(size);
    std::fflush(stdout);
  }
  measure_instrumentation();
}
