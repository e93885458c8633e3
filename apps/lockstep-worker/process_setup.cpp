#include "process_setup.h"

#include <malloc.h>
#include <signal.h>
#include <torch/torch.h>

#include <limits>

#include "gemm.h"

namespace lockstep::worker {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "it is set in a signal handler");

void on_interrupt(int signal) {
  if (stop_requested.exchange(true)) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
}

}  // namespace

void set_up_process(int threads) {
  ::mallopt(M_MMAP_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_TOP_PAD, 64 << 20);
  at::set_num_threads(threads);
  limit_blas_threads(threads);
  at::set_num_interop_threads(1);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

const std::atomic<bool>& stop_flag() { return stop_requested; }

}  // namespace lockstep::worker
