#include "command_line/version_text.h"

#include <fmt/format.h>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/system/build_facts.h"
#include "lockstep/base/version.h"
#include "lockstep/launch/process/captured_output.h"
#include "lockstep/launch/worker_program.h"

namespace lockstep::cli {
namespace {

constexpr Seconds kWorkerAnswers{10};

std::string worker_text() {
  const auto worker = launch::find_worker_program();
  if (!worker) return "none beside lockstep or in PATH; only lockstep train needs one";
  launch::ProcessSpec spec;
  spec.program = *worker;
  spec.arguments = {"--version"};
  try {
    const launch::CapturedOutput said = launch::run_captured(spec, kWorkerAnswers, SystemClock());
    const std::string line = said.output.substr(0, said.output.find('\n'));
    if (said.timed_out) return *worker + ", which does not answer";
    if (!said.status.clean()) return fmt::format("{}, which fails: {}", *worker, line);
    return fmt::format("{}: {}", *worker, line);
  } catch (const Error& error) {
    return fmt::format("{}, which does not start: {}", *worker, error.what());
  }
}

}  // namespace

std::string version_text() {
  const BuildFacts build = build_facts();
  std::string text = fmt::format("lockstep {}", kVersion);
  if (!build.commit.empty()) text += fmt::format(" (commit {})", build.commit);
  text += fmt::format("\nbuild: {}, {}, {}\n", build.type, build.compiler,
                      is_static_program() ? "static" : "with shared libraries");
  return text + fmt::format("worker: {}\n", worker_text());
}

}  // namespace lockstep::cli
