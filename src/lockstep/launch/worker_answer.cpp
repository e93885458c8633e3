#include "lockstep/launch/worker_answer.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/launch/process/captured_output.h"
#include "lockstep/launch/worker_program.h"

namespace lockstep::launch {

std::string worker_answer(const std::vector<std::string>& arguments, Seconds timeout,
                          const Clock& clock) {
  ProcessSpec spec;
  spec.program = require_worker_program();
  spec.arguments = arguments;
  spec.environment = worker_environment();
  spec.separate_errors = true;
  const CapturedOutput said = run_captured(spec, timeout, clock);
  if (said.status.clean() && !said.output.empty()) return said.output;
  const std::string why = said.timed_out        ? "no answer within " + format_seconds(timeout)
                          : said.errors.empty() ? fmt::format("exit code {}", said.status.code)
                                                : said.errors.substr(0, said.errors.find('\n'));
  throw Error(ErrorKind::kEnvironment,
              fmt::format("{} {} did not answer: {}", spec.program, arguments.front(), why),
              "run lockstep doctor to see what is missing");
}

}  // namespace lockstep::launch
