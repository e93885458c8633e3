#include "lockstep/simulate/run/network_simulator.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "lockstep/base/error.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/process/child_process.h"
#include "lockstep/launch/process/signal_inbox.h"
#include "lockstep/launch/process/streamed_process.h"

namespace lockstep::simulate {
namespace {

constexpr Seconds kLongestSimulation{1800};
constexpr std::uint64_t kMostMemory = std::uint64_t{4} << 30;

std::string require_program() {
  if (const char* given = std::getenv("LOCKSTEP_SIM_PROGRAM")) return given;
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (const auto beside = launch::find_program((self.parent_path() / "lockstep-sim").string())) {
    return *beside;
  }
  if (const auto found = launch::find_program("lockstep-sim")) return *found;
  throw Error(ErrorKind::kEnvironment,
              "shared links need lockstep-sim, which is neither beside lockstep nor in PATH",
              "build it (it needs SimGrid: apt-get install libsimgrid-dev), or simulate --topology "
              "star without --background, which works without it");
}

/// What lockstep-sim wrote on its standard error.
struct Diagnostics {
  std::string message;
  std::string hint;
  std::string last;
  std::string critical;  ///< SimGrid's reason; a backtrace follows it

  void read(std::string_view line) {
    if (line.starts_with("error: ")) message = line.substr(7);
    if (line.starts_with("hint: ")) hint = line.substr(6);
    const std::size_t reason = line.find("CRITICAL] ");
    if (reason != std::string_view::npos && critical.empty()) critical = line.substr(reason + 10);
    if (!line.empty()) last = line;
  }
};

ErrorKind kind_of_exit(int code) {
  for (const ErrorKind kind : {ErrorKind::kUsage, ErrorKind::kEnvironment, ErrorKind::kData}) {
    if (exit_code(kind) == code) return kind;
  }
  return ErrorKind::kInternal;
}

void check_outcome(const launch::StreamedOutcome& outcome, const Diagnostics& said) {
  if (outcome.stop_requested) throw Error(ErrorKind::kInterrupted, "the simulation was stopped");
  if (outcome.timed_out) {
    throw Error(
        ErrorKind::kEnvironment,
        fmt::format("the simulation took longer than {}", format_seconds(kLongestSimulation)),
        "simulate fewer workers, or an algorithm with fewer flows: ring or tree");
  }
  if (outcome.status.clean()) return;
  if (!said.message.empty()) {
    throw Error(kind_of_exit(outcome.status.code), said.message, said.hint);
  }
  if (said.critical.find("bad_alloc") != std::string::npos) {
    throw Error(ErrorKind::kEnvironment, "the simulated network needs too much memory",
                "simulate fewer --workers, more --per-host or a smaller platform");
  }
  throw Error(
      ErrorKind::kData,
      fmt::format("lockstep-sim failed: {}", said.critical.empty() ? said.last : said.critical),
      "check the platform file, or try another --topology");
}

std::string status_text(std::string_view line, const NetworkRequest& request, double seconds) {
  const std::size_t slash = line.find('/');
  const double done = std::strtod(std::string(line.substr(9, slash - 9)).c_str(), nullptr);
  const double all = std::strtod(std::string(line.substr(slash + 1)).c_str(), nullptr);
  return fmt::format("{} workers, {}: {:.0f} of {:.0f} rounds, {} left",
                     format_count(request.cluster.workers), algorithm_name(request.algorithm), done,
                     all, format_seconds(Seconds(done > 0 ? seconds * (all - done) / done : 0)));
}

NetworkAnswer ask(const NetworkRequest& request, const Clock& clock) {
  launch::ProcessSpec spec;
  spec.program = require_program();
  spec.title = "lockstep-sim";
  spec.separate_errors = true;
  spec.data_limit = kMostMemory;
  spec.input = nlohmann::json(request).dump() + "\n";
  launch::SignalInbox signals;
  Console console(clock);
  Diagnostics said;
  std::string output;
  const Nanoseconds begin = clock.monotonic();
  const launch::LineTakers lines{[&](std::string_view line) {
                                   output += line;
                                   return launch::AfterLine::kGoOn;
                                 },
                                 [&](std::string_view line) {
                                   if (line.starts_with("progress ")) {
                                     const double seconds =
                                         static_cast<double>(clock.monotonic() - begin) * 1e-9;
                                     console.set_status(status_text(line, request, seconds));
                                   } else {
                                     said.read(line);
                                   }
                                   return launch::AfterLine::kGoOn;
                                 }};
  const auto outcome =
      launch::run_streamed(spec, lines, signals, clock, {kLongestSimulation, Seconds(5)});
  console.clear_status();
  check_outcome(outcome, said);
  try {
    return nlohmann::json::parse(output).get<NetworkAnswer>();
  } catch (const nlohmann::json::exception& problem) {
    throw Error(ErrorKind::kInternal,
                fmt::format("lockstep-sim gave no answer: {}", problem.what()),
                "build lockstep and lockstep-sim from the same sources");
  }
}

}  // namespace

NetworkEngine network_simulator(const Clock& clock) {
  return [&clock](const NetworkRequest& request) { return ask(request, clock); };
}

}  // namespace lockstep::simulate
