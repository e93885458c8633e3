#include "lockstep/comm/backends/c10d/nccl_environment.h"

#include <torch/version.h>

#include <cstdlib>
#include <string_view>

#include "lockstep/comm/rendezvous/network_address.h"

namespace lockstep::comm {
namespace {

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
constexpr const char* kFailureSettings[] = {
    "TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_BLOCKING_WAIT",
    "TORCH_NCCL_RETHROW_CUDA_ERRORS"};
#else  // later versions warn of these names
constexpr const char* kFailureSettings[] = {"NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT"};
#endif

/// c10d has threads that end the process when a collective takes longer than its own timeout, when
/// they hear of trouble through the store, or when they are the first to see a failure of the GPU.
/// The coordinator of the run, await() and the thread that trains report all three, with a message
/// that names the rank: c10d's must come later. Many job scripts switch these on; a wait that
/// blocks would then last as long as the timeout of c10d. Changed once, before there are
/// threads of c10d that read the environment.
void leave_failures_to_us() {
  for (const char* name : kFailureSettings) {
    const char* const set = std::getenv(name);
    if (set == nullptr || std::string_view(set) != "0") ::setenv(name, "0", /*overwrite=*/1);
  }
}

/// NCCL chooses an interface by itself, which may be one that the other hosts do not reach.
void use_interface_of(const std::string& address) {
  const std::string name = interface_with(address);
  if (!name.empty()) ::setenv("NCCL_SOCKET_IFNAME", ("=" + name).c_str(), /*overwrite=*/0);
}

}  // namespace

void set_nccl_environment(const std::string& address) {
  leave_failures_to_us();
  use_interface_of(address);
}

std::string cause_of_nccl_error(const std::string& report) {
  static constexpr std::string_view kCause = "Last error:";
  std::string text = report.substr(0, report.find('\n'));
  const std::size_t marked = report.find(kCause);
  if (marked == std::string::npos) return text;
  const std::size_t begin = report.find_first_not_of(" \n", marked + kCause.size());
  if (begin == std::string::npos) return text;
  return text + "; last error: " + report.substr(begin, report.find('\n', begin) - begin);
}

}  // namespace lockstep::comm
